import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { parse } from 'yaml'
import { z } from 'zod'

const composeFile = z.object({
  services: z.record(
    z.string(),
    z.looseObject({
      command: z.array(z.string()).optional(),
      environment: z.record(z.string(), z.string()).default({}),
    }),
  ),
  configs: z.record(z.string(), z.object({ content: z.string() })),
})

/** What Compose makes of docker-compose.yml with the values of an `.env`. Throws when it asks for one that is not there. */
export function readComposeFile(values: Record<string, string>): z.output<typeof composeFile> {
  const text = readFileSync(join(CHECKOUT, 'docker-compose.yml'), 'utf8')
  return composeFile.parse(interpolated(parse(text, { merge: true }), values))
}

function interpolated(value: unknown, values: Record<string, string>): unknown {
  if (typeof value === 'string') return interpolate(value, values)
  if (Array.isArray(value)) return value.map((item) => interpolated(item, values))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, interpolated(item, values)]))
}

/** `${NAME:-default}` and `${NAME:?what to do}`, and `$$` for a dollar sign, as Compose has them. */
function interpolate(text: string, values: Record<string, string>): string {
  return text.replace(
    /\$\$|\$\{(\w+):(-|\?)([^}]*)\}/g,
    (found, name: string, kind: string, rest: string) => {
      if (found === '$$') return '$'
      const value = values[name] ?? (kind === '-' ? rest : undefined)
      if (value === undefined)
        throw new Error(`docker-compose.yml asks for ${name}, which .env does not have`)
      return value
    },
  )
}
