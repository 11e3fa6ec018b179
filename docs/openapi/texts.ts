import { allResources } from '@parley/configuration/resources/all-resources'
import { z } from 'zod'
import type { Schemas } from './schemas.ts'

export const DESCRIPTION = `Configurable assistants inside workspaces: what defines them, the messages they take in,
and the log of what became of each.

Every success is 200 with a JSON body. Every error is a problem (RFC 9457) with a \`code\` to decide by. A 503, 502 or
504 says in \`Retry-After\` when to ask again; a POST of a message that is repeated with the same \`Idempotency-Key\`
counts once. What is published to the message broker is described at \`/asyncapi.json\`.`

export const TAGS = [
  { name: 'accounts', description: 'Registering, logging in, and who is calling' },
  { name: 'tokens', description: 'Long-lived tokens for programs' },
  { name: 'administration', description: 'Users, roles, invitations and the audit log of a workspace' },
  ...allResources.map(({ name, description }) => ({ name, description })),
  { name: 'configuration', description: 'All of the configuration at once: checks, export, import' },
  { name: 'webhooks', description: 'Where messages are posted, by programs and by providers' },
  { name: 'messages', description: 'The log of what became of every message' },
  { name: 'usage', description: 'What was used of language models' },
  { name: 'events', description: 'What happens, as it happens' },
  { name: 'threads', description: 'Conversations with people, and the people who take them over' },
  { name: 'operation', description: 'Health, keys and documents' },
]

/** Headers that several answers have. */
export function commonHeaders(schemas: Schemas): Record<string, object> {
  const header = (description: string, schema: z.ZodType) => ({ description, schema: schemas.of(schema) })
  const seconds = z.number().int().min(0)
  return {
    'X-Request-Id': header('Names the request in the logs; taken over from the caller when sane', z.string()),
    'Retry-After': header('Seconds after which asking again makes sense', seconds),
    'WWW-Authenticate': header('That a bearer token is wanted', z.string()),
    'RateLimit-Policy': header('The limit: its name, quota and window in seconds', z.string()),
    RateLimit: header('What is left of the quota, and the seconds until it is whole again', z.string()),
  }
}
