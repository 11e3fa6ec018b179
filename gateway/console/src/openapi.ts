import { call } from './api.ts'
import type { Schema } from './schema.ts'

interface OpenApi {
  paths: Record<string, Record<string, unknown>>
  components: { schemas: Record<string, Schema> }
}

let document: Promise<OpenApi> | undefined

/** The gateway's OpenAPI document, read once. */
function openApi(): Promise<OpenApi> {
  document ??= call<OpenApi>('GET', '/openapi.json').catch((error) => {
    document = undefined
    throw error
  })
  return document
}

/** A named schema. Throws when the document has none of that name. */
export async function schemaNamed(name: string): Promise<Schema> {
  const schema = (await openApi()).components.schemas[name]
  if (schema === undefined) throw new Error(`the API has no schema ${name}`)
  return schema
}
