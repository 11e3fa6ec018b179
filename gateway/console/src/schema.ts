/** A schema of the OpenAPI document, as far as forms need it. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  format?: string
  description?: string
  enum?: readonly unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  maxLength?: number
  minimum?: number
  maximum?: number
}

/** The schema without the alternative null, and whether there was one. */
export function withoutNull(schema: Schema): { schema: Schema; nullable: boolean } {
  if (Array.isArray(schema.type) && schema.type.includes('null')) {
    const [type = 'string'] = schema.type.filter((one) => one !== 'null')
    return { schema: { ...schema, type }, nullable: true }
  }
  const others = schema.anyOf?.filter(({ type }) => type !== 'null') ?? []
  const [only] = others
  if (only === undefined || others.length === schema.anyOf?.length) return { schema, nullable: false }
  const described = schema.description === undefined ? only : { ...only, description: schema.description }
  return { schema: described, nullable: true }
}
