import { config as configuration } from '@parley/configuration/config'
import { config as dispatcher } from '@parley/dispatcher/config'
import { gatewayConfig as gateway } from '@parley/gateway/config'
import { identityConfig as identity } from '@parley/identity/config'
import { baseConfig } from '@parley/shared/config'
import { SERVICES, type ServiceName } from '@parley/shared/internal-token'
import { config as webhook } from '@parley/webhook/config'
import { z } from 'zod'

const SHAPES: Record<ServiceName, z.ZodRawShape> = { gateway, identity, webhook, configuration, dispatcher }

/** Every environment variable of a process. */
export const environmentOf = (name: ServiceName): z.ZodRawShape => ({ ...baseConfig, ...SHAPES[name] })

/** The page of all environment variables, as Markdown. */
export function renderEnvironmentPage(): string {
  const services = SERVICES.map((name) => `## ${name}\n\n${tableOf(SHAPES[name])}`)
  return `# Configuration reference

Every process takes its whole configuration from the environment, reads it once when it starts, and ends with status 1
and a list of everything that is wrong with it, without the values. With \`NODE_ENV=production\` it also refuses what is
only fit for a machine of one's own: defaults that must be set, and secrets that are not random. \`npm run compose:env\`
makes all secrets. How to change one later is in [security](security.md).

\`node services/server.ts\` hosts several services in one process: with \`SERVICES=all\`, or some, separated by commas. A key with a
service's name in front, such as \`WEBHOOK_PORT\`, is then that service's own and comes before \`PORT\`, which all share. What one
service does not catch ends all of them.

## every process

${tableOf(baseConfig)}

${services.join('\n\n')}
`
}

function tableOf(shape: z.ZodRawShape): string {
  const rows = Object.entries(shape).map(
    ([key, schema]) =>
      `| \`${key}\` | ${whenNotSet(schema as z.ZodType)} | ${describe(schema as z.ZodType)} |`,
  )
  return ['| variable | when not set | what it is |', '| --- | --- | --- |', ...rows].join('\n')
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
