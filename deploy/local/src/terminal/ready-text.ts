import { heapLimitMib, type Memory, memoryBound, sizesOf } from '@parley/shared/memory'
import type { Servers } from '../servers/start-servers.ts'
import { SIMULATED } from '../simulator/client.ts'
import type { System } from '../system/start-system.ts'

const COLUMNS = 80
const LABEL = 12

/** The text of `npm start` when everything is ready: at most 80 columns wide. */
export function readyText(
  { gatewayUrl, simulatorUrl, modelSimulatorUrl, processes }: Omit<System, 'stop'>,
  servers: Pick<Servers, 'mongo' | 'rabbitmq' | 'redis'>,
  { memory, together }: { memory: Memory; together: boolean },
): string {
  const services = Object.entries(processes).filter(([name]) =>
    /^(identity|webhook|configuration|dispatcher|campaigns)(-\d+)?$/.test(name),
  )
  return [
    '',
    'Parley is ready. Ctrl-C stops it.',
    '',
    ...row('Console', `${gatewayUrl}/console`),
    ...row('API', `${gatewayUrl}, described at ${gatewayUrl}/docs`),
    ...row('Docs', 'README.md and docs/ in this folder'),
    '',
    ...row('Next', 'npm run try    a workspace with something to look at'),
    ...row('', 'npm run demo   1,000 messages, calm and while things fail'),
    ...row('', 'npx parley     the command line'),
    '',
    ...row('Services', services.map(([name, { url }]) => `${name} ${portOf(url)}`).join(', ')),
    ...row(
      'Simulators',
      `${SIMULATED.description.label} ${simulatorUrl}, language model ${modelSimulatorUrl}`,
    ),
    ...[servers.mongo, servers.rabbitmq, servers.redis].flatMap(({ name, url, source }) =>
      row(DISPLAYED[name] ?? name, `${hostOf(url)}, ${source}`),
    ),
    ...row('Memory', memoryText(memory, { together, hasCache: servers.mongo.pid !== undefined })),
    '',
  ].join('\n')
}

const DISPLAYED: Record<string, string> = { mongodb: 'MongoDB', rabbitmq: 'RabbitMQ', redis: 'Redis' }

const portOf = (url: string): string => new URL(url).port

/** Without its credentials. */
const hostOf = (url: string): string => /\/\/(?:[^@/]*@)?([^/?]+)/.exec(url)?.[1] ?? url

/** The most that is used, as `MEMORY` says. */
function memoryText(
  memory: Memory,
  { together, hasCache }: { together: boolean; hasCache: boolean },
): string {
  const { atMostMib } = memoryBound(memory, heapLimitMib(memory))
  const services = `${together ? 'all services' : 'each service'} at most ${atMostMib} MiB`
  const cache = hasCache ? `, MongoDB's cache ${sizesOf(memory).mongoCacheGb * 1_024} MiB` : ''
  return `${services}${cache}`
}

/** A label and a text in as many lines as it takes. */
function row(label: string, text: string): string[] {
  const width = COLUMNS - LABEL - 2
  const lines: string[] = []
  for (const word of text.split(/(?<=,) /)) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines.map((line, at) => `  ${(at === 0 ? label : '').padEnd(LABEL)}${line}`)
}
