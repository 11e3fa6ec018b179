import { config as campaigns } from '@parley/campaigns/config'
import { config as configuration } from '@parley/configuration/config'
import { config as dispatcher } from '@parley/dispatcher/config'
import { gatewayConfig as gateway } from '@parley/gateway/config'
import { identityConfig as identity } from '@parley/identity/config'
import { baseConfig } from '@parley/shared/config'
import { SERVICES, type ServiceName } from '@parley/shared/internal-token'
import { config as webhook } from '@parley/webhook/config'
import { z } from 'zod'

const SHAPES: Record<ServiceName, z.ZodRawShape> = {
  ...{ gateway, identity, webhook, configuration, dispatcher, campaigns },
}

/** Every environment variable of a process. */
export const environmentOf = (name: ServiceName): z.ZodRawShape => ({ ...baseConfig, ...SHAPES[name] })

/** The page of all environment variables, as Markdown; what several processes take alike stands there once. */
export function renderEnvironmentPage(): string {
  const all = SERVICES.flatMap((service) => rowsOf(SHAPES[service]).map((row) => ({ row, service })))
  const users = Map.groupBy(all, ({ row }) => row)
  const shared = [...users].filter(([, { length }]) => length > 1)
  const sharedRows = shared.map(([row, by]) => `${row} ${by.map(({ service }) => service).join(', ')} |`)
  const services = SERVICES.map((name) => {
    const own = rowsOf(SHAPES[name]).filter((row) => users.get(row)?.length === 1)
    return `## ${name}\n\n${tableOf(own)}`
  })
  return `# Configuration reference

A process reads its configuration from the environment when it starts, and ends with status 1 and a list of all that is wrong,
without the values. With \`NODE_ENV=production\` it refuses defaults that must be set and secrets that are not random.
\`npm run compose:env\` makes all secrets; [security](security.md#keys) says how each is changed.

\`node services/server.ts\` hosts several services in one process: with \`SERVICES=all\`, or some, separated by commas. A key with a
service's name in front, such as \`WEBHOOK_PORT\`, is then that service's own and comes before \`PORT\`, which all share. What one
service does not catch ends all of them.

## every process

${tableOf(rowsOf(baseConfig))}

## several processes

${tableOf(sharedRows, ['of'])}

${services.join('\n\n')}
`
}

const rowsOf = (shape: z.ZodRawShape): string[] =>
  Object.entries(shape).map(
    ([key, schema]) =>
      `| \`${key}\` | ${whenNotSet(schema as z.ZodType)} | ${describe(schema as z.ZodType)} |`,
  )

function tableOf(rows: readonly string[], further: readonly string[] = []): string {
  const head = ['variable', 'when not set', 'what it is', ...further]
  return [`| ${head.join(' | ')} |`, `|${' --- |'.repeat(head.length)}`, ...rows].join('\n')
}

function describe(schema: z.ZodType): string {
  if (schema.description === undefined) throw new Error('a variable without a description')
  return schema.description.replaceAll('|', '\\|')
}

function whenNotSet(schema: z.ZodType): string {
  if (!schema.safeParse(undefined).success) return '**required**'
  const value = defaultOf(schema)
  return (typeof value === 'string' && value !== '') || typeof value === 'number' ? `\`${value}\`` : '–'
}

function defaultOf(schema: z.core.$ZodType): unknown {
  if (schema instanceof z.ZodPipe) return defaultOf(schema.in)
  return schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined
}
