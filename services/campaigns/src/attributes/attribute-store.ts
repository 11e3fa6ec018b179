import type { Connection, mongo } from 'mongoose'

const QUERY_MS = 2_000

/** The types that an attribute's values may have. */
export const ATTRIBUTE_TYPES = ['text', 'number', 'boolean', 'date'] as const
export type AttributeType = (typeof ATTRIBUTE_TYPES)[number]

/** An attribute that people of a workspace may have. */
export interface Attribute {
  name: string
  type: AttributeType
}

/** The attributes of a workspace. */
export interface AttributesRecord {
  /** The workspace. */
  _id: number
  attributes: Attribute[]
  /** Names that were taken away, and that people may still have values of. */
  removed: string[]
  revision: number
}

/** The types of a workspace's attributes by their names. */
export type AttributeTypes = ReadonlyMap<string, AttributeType>

export const attributesOf = (connection: Connection): mongo.Collection<AttributesRecord> =>
  connection.collection('attributes') as unknown as mongo.Collection<AttributesRecord>

/** The attributes that a workspace has declared. */
export async function findAttributes(connection: Connection, workspace: number): Promise<AttributesRecord> {
  const found = await attributesOf(connection).findOne({ _id: workspace }, { maxTimeMS: QUERY_MS })
  return found ?? { _id: workspace, attributes: [], removed: [], revision: 0 }
}

/** The same as types by name. */
export async function findAttributeTypes(connection: Connection, workspace: number): Promise<AttributeTypes> {
  const { attributes } = await findAttributes(connection, workspace)
  return new Map(attributes.map(({ name, type }) => [name, type]))
}
