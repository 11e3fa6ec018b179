import { z } from 'zod'
import { id, times, timesExample } from '../schemas.ts'

export const MOST_TEAMS = 100
export const MOST_MEMBERS = 200

/** Users to whom a thread can be assigned together. It gives them no rights. */
export interface Team {
  _id: number
  workspace: number
  name: string
  /** The accounts in it. */
  members: number[]
  createdAt: Date
  updatedAt: Date
}

/** The team as callers see it. */
export function teamView({ _id, name, members, createdAt, updatedAt }: Team) {
  return { _id, name, members, createdAt, updatedAt }
}

/** The result of {@link teamView}. */
export const teamSchema = z
  .object({
    _id: id,
    name: z.string(),
    members: z.array(id).describe('The `_id` of each user in it'),
    ...times,
  })
  .meta({ id: 'Team', description: 'Users to whom a thread can be assigned together' })

export const teamExample = { _id: 1, name: 'Delivery', members: [1], ...timesExample }
