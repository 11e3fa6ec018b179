import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'

const WARNING = '// Written by `npm run check` from what the services describe.\n'
/** Fields of a document that are for people. */
const TEXTS = ['description', 'summary', 'example', 'examples']
const PROBLEM = {
  description: 'Any refusal',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}

/** The types of a client of the API, as TypeScript text: all responses but 200 are the one problem. */
export async function clientTypes(document: object): Promise<string> {
  const { paths, components } = structuredClone(document) as {
    paths: Record<string, Record<string, { responses: Record<string, unknown> }>>
    components: { schemas: object }
  }
  for (const operation of Object.values(paths).flatMap(Object.values)) {
    operation.responses = { 200: withoutHeaders(operation.responses[200] as object), default: PROBLEM }
  }
  const slim = {
    openapi: '3.1.1',
    info: { title: 'Parley', version: '1' },
    paths,
    components: { schemas: components.schemas },
  }
  const ast = await openapiTS(withoutTexts(slim) as unknown as OpenAPI3)
  return WARNING + astToString(ast)
}

function withoutHeaders(response: object): object {
  return { ...response, headers: {} }
}

/** Removes texts, but not fields of schemas that have one of those names. */
function withoutTexts(value: unknown, isNames = false): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutTexts(item))
  if (typeof value !== 'object' || value === null) return value
  const remaining = Object.entries(value).filter(([key]) => isNames || !TEXTS.includes(key))
  return Object.fromEntries(remaining.map(([key, inner]) => [key, withoutTexts(inner, key === 'properties')]))
}
