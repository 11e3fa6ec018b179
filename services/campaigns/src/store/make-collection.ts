import type { Connection } from 'mongoose'

const EXISTS = 48

/** Makes a collection, which first writes that come together would conflict over. */
export async function makeCollection(connection: Connection, name: string): Promise<void> {
  await connection.db?.createCollection(name).catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== EXISTS) throw error
  })
}
