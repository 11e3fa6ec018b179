import { randomUUIDv7 } from 'node:crypto'
import mongoose from 'mongoose'

const BATCH = 5_000

/** Somebody of the audience. */
export interface AudiencePerson {
  _id: string
  phone: string
  hasConsent: boolean
}

/** Stores people of the workspace that was registered last, as an import does: nine of ten have agreed to marketing. */
export async function addAudience(mongoUrl: string, count: number): Promise<AudiencePerson[]> {
  const connection = await mongoose.createConnection(mongoUrl, { dbName: 'campaigns' }).asPromise()
  try {
    const registered = await connection
      .useDb('identity')
      .collection<{ _id: number }>('workspaces')
      .findOne({}, { sort: { _id: -1 } })
    const workspace = registered?._id
    const people = Array.from({ length: count }, (_, at) => ({
      _id: randomUUIDv7(),
      phone: `55119${String(at).padStart(8, '0')}`,
      hasConsent: at % 10 !== 0,
    }))
    const now = new Date()
    for (let from = 0; from < count; from += BATCH)
      await connection.collection<{ _id: string }>('people').insertMany(
        people.slice(from, from + BATCH).map(({ _id, phone, hasConsent }) => ({
          ...{ _id, workspace, addresses: [`phone:${phone}`], attributes: {}, tags: [] },
          ...{ createdAt: now, updatedAt: now, revision: 0 },
          consent: hasConsent ? { marketing: { status: 'granted', at: now, source: 'import' } } : {},
        })),
      )
    return people
  } finally {
    await connection.close()
  }
}
