import { readFileSync } from 'node:fs'
import { allResources } from '@parley/configuration/resources/all-resources'
import { defined } from '@parley/shared/defined'
import type { Content, Operation, OperationParameter } from '@parley/shared/openapi/operation'
import { z } from 'zod'
import { operations, type PermissionOperation, services } from '../permission-operations.ts'
import { createRefusals, type Refusals, refusalsOf } from './refusals.ts'
import { createSchemas, problemSchema, type Schemas } from './schemas.ts'
import { webhooks } from './webhooks.ts'

const DESCRIPTION = `Configurable assistants inside workspaces: what defines them, the messages they take in,
and the log of what became of each.

Every success is 200 with a JSON body. Every error is a problem (RFC 9457) with a \`code\` to decide by. A 503, 502 or
504 says in \`Retry-After\` when to ask again; a POST of a message that is repeated with the same \`Idempotency-Key\`
counts once. What is published to the message broker is described at \`/asyncapi.json\`.`

const TAGS = [
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
  { name: 'people', description: 'Who is written to, and segments of them' },
  { name: 'templates', description: 'What may be written to people at any time' },
  { name: 'campaigns', description: 'One template to many people' },
  { name: 'operation', description: 'Health, keys and documents' },
]

interface Parts {
  schemas: Schemas
  refusals: Refusals
}

/** The OpenAPI 3.1 document of all that the gateway lets in. */
export function openApiDocument(): object {
  const parts: Parts = { schemas: createSchemas(), refusals: createRefusals() }
  const paths: Record<string, Record<string, object>> = {}
  for (const ofService of Object.values(services))
    for (const operation of ofService)
      paths[operation.path] = {
        ...paths[operation.path],
        [operation.method.toLowerCase()]: one(operation, parts),
      }
  const Problem = parts.schemas.of(problemSchema)
  return {
    openapi: '3.1.1',
    info: {
      ...{
        title: 'Parley',
        version: versionOfProduct(),
        summary: 'Configurable assistants behind messaging',
      },
      ...{ description: DESCRIPTION, license: { name: 'MIT', identifier: 'MIT' } },
    },
    servers: [{ url: '/', description: 'The gateway that served this document' }],
    security: [{ bearer: [] }],
    tags: TAGS,
    paths,
    webhooks: webhooks(parts.schemas),
    components: {
      schemas: { ...parts.schemas.components(), Problem, ...parts.refusals.schemas() },
      responses: parts.refusals.components(),
      examples: parts.refusals.examples(),
      headers: commonHeaders(parts.schemas),
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'An access token (15 minutes) or an API token',
        },
      },
    },
  }
}

function one(operation: Operation, parts: Parts): object {
  const { method, path, id, tag, summary, description, aliases = [], body, others = {} } = operation
  const permission = operations.find((each) => each.method === method && each.path === path)
  if (permission === undefined) throw new Error(`${method} ${path} is not in the list of operations`)
  const names = aliases.map((alias) => `\`${method} ${alias}\``)
  return {
    ...{ operationId: id, tags: [tag], summary },
    description: [
      description,
      names.length > 0 ? `The same as ${names.join(', ')}.` : undefined,
      needs(permission),
    ]
      .filter((text) => text !== undefined)
      .join('\n\n'),
    ...(permission.access === 'nothing' ? { security: [] } : {}),
    parameters: parametersOf(operation, parts),
    ...(body === undefined
      ? {}
      : { requestBody: { required: !body.optional, content: contentOf(body, parts) } }),
    responses: {
      200: responseOf(operation, parts),
      ...parts.refusals.responsesFor(refusalsOf(operation, permission)),
      ...Object.fromEntries(
        Object.entries(others).map(([status, { description, content }]) => [
          status,
          { description, ...(content === undefined ? {} : { content: contentOf(content, parts) }) },
        ]),
      ),
    },
  }
}

function needs({ access, resource }: PermissionOperation): string | undefined {
  if (access === 'nothing') return undefined
  return access === 'token' ? 'Takes any token.' : `Takes a role that may ${access} \`${resource}\`.`
}

function responseOf({ response }: Operation, parts: Parts): object {
  const headers = (response.headers ?? []).map(({ name, description }) => [
    name,
    { description, schema: { type: 'string' } },
  ])
  return {
    description: response.description ?? 'What was asked for',
    headers: {
      'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
      ...Object.fromEntries(headers),
    },
    content: contentOf(response, parts),
  }
}

function contentOf({ schema, example, types = ['application/json'] }: Content, { schemas }: Parts): object {
  return Object.fromEntries(types.map((type) => [type, { schema: schemas.of(schema), example }]))
}

/** Those of the path, the query and the headers, in that order. */
function parametersOf({ parameters = [], query }: Operation, { schemas }: Parts): object[] {
  const [ofPath = [], others = []] = [true, false].map((isInPath) =>
    parameters.filter((one) => (one.in === 'path') === isInPath),
  )
  return [
    ...ofPath.map((one) => parameterOf(one, schemas.of(one.schema))),
    ...Object.entries(query?.shape ?? {}).map(([name, field]) => {
      const { description = '', example, ...schema } = schemas.of(field as z.ZodType)
      return parameterOf({ in: 'query', name, description: String(description), example }, schema)
    }),
    ...others.map((one) => parameterOf(one, schemas.of(one.schema))),
  ]
}

function parameterOf(parameter: Omit<OperationParameter, 'schema'>, schema: object): object {
  const { in: place, name, description, required = false, example } = parameter
  return {
    ...{ name, in: place, description, required, schema },
    ...(takesLists(schema) ? { style: 'form', explode: false } : {}),
    ...defined({ example }),
  }
}

/** Lists in a query are separated by commas. */
function takesLists(schema: object): boolean {
  const { type, anyOf = [] } = schema as { type?: string; anyOf?: object[] }
  return type === 'array' || anyOf.some(takesLists)
}

function versionOfProduct(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  return version
}

/** Headers that several answers have. */
function commonHeaders(schemas: Schemas): Record<string, object> {
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
