import type { Servers } from './servers/start-servers.ts'
import type { System } from './system/start-system.ts'

/** The table that `npm start` shows when everything is ready. */
export function describeSystem(system: System, servers: Servers): string {
  const { gateway, ...inner } = system.processes
  const services = ['identity', 'webhook', 'configuration', 'dispatcher']
  const instances = Object.keys(inner).filter((name) => services.includes(name.replace(/-\d+$/, '')))
  const rows = [
    ['gateway', gateway?.url ?? '', 'the public address'],
    ['simulator', inner.simulator?.url ?? '', 'WhatsApp Cloud API simulator'],
    ...instances.map((name) => [name, inner[name]?.url ?? '', 'service']),
    ...[servers.mongo, servers.rabbitmq, servers.redis].map(({ name, url, source }) => [
      name,
      withoutCredentials(url),
      source,
    ]),
  ]
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map(
    (row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`,
  )
  return `\nParley is ready. Ctrl-C stops it.\n\n${lines.join('\n')}\n`
}

function withoutCredentials(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//')
}
