import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import { idParameter, pathId } from '@parley/shared/openapi/path-id'
import { type Route, route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { findWritable, requireSelected } from '../access/authorizer.ts'
import { label } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { readersOfThreads } from '../own-account/colleagues.ts'
import {
  deleteRoute,
  listRoute,
  lookupOf,
  type Resource,
  readRoute,
  refusingTakenName,
  storeChange,
  storeNew,
} from '../resource-routes.ts'
import { id, MERGE_PATCH, REST_BODY_BYTES } from '../schemas.ts'
import { actorOf } from '../store/audit.ts'
import type { Collections } from '../store/collections.ts'
import { takeIds } from '../store/ids.ts'
import { MOST_MEMBERS, MOST_TEAMS, type Team, teamExample, teamSchema, teamView } from '../store/team.ts'

const teams: Resource<Team> = {
  name: 'teams',
  path: '/rest/teams',
  tag: 'administration',
  title: 'Team',
  schema: teamSchema,
  example: teamExample,
  view: teamView,
  collection: (collections) => collections.teams,
}
const { path, tag } = teams
const response = { schema: teamSchema, example: teamExample }

const name = label.refine((text) => text.trim() !== '', { error: 'is empty' })
const members = z
  .array(id)
  .max(MOST_MEMBERS)
  .transform((ids) => [...new Set(ids)])
  .describe('The `_id` of each: users who may read threads, as `GET /api/auth/colleagues` lists them')

const createTeam = route({
  ...{ method: 'POST', path, access: 'write', id: 'createTeam', tag, summary: 'Make a team' },
  description: `A workspace has ${MOST_TEAMS} at most, of ${MOST_MEMBERS} users.`,
  body: {
    schema: z.strictObject({ name, members: members.optional() }).meta({ id: 'TeamBody' }),
    example: { name: 'Delivery', members: [1] },
    maxBytes: REST_BODY_BYTES,
  },
  response,
  errors: ['name_taken'],
  handle: (administration: Administration) => async (_req, res, asked) => {
    const { collections, authorizer } = administration
    const caller = actorOf(res)
    const decision = await authorizer.require(caller, 'teams', 'write')
    const { name, members = [] } = asked.body()
    await requireColleagues(administration, caller, members)
    const { teams: _id } = await takeIds({
      counters: collections.counters,
      from: 'ids',
      amounts: { teams: 1 },
    })
    const now = new Date()
    const workspace = caller.workspace._id
    const team = { _id, workspace, name, members, createdAt: now, updatedAt: now }
    requireSelected(decision, team)
    await refusingTakenName(() =>
      storeNew(administration, teams, {
        ...{ caller, document: team, details: { name, members } },
        along: async (transaction) => {
          await requireRoom(collections, transaction, workspace)
          await takeIn(collections, transaction, members)
        },
      }),
    )
    res.json(teamView(team))
  },
})

const changeTeam = route({
  method: 'PATCH',
  path: `${path}/{id}`,
  access: 'write',
  id: 'changeTeam',
  tag,
  summary: 'Change a team',
  description: 'Its name, or all that are then in it. Refused where it is changed at the same moment.',
  parameters: [idParameter()],
  body: {
    schema: z.strictObject({ name: name.optional(), members: members.optional() }).meta({ id: 'TeamPatch' }),
    example: { members: [1] },
    types: MERGE_PATCH,
    maxBytes: REST_BODY_BYTES,
  },
  response,
  errors: ['invalid_id', 'not_found', 'name_taken', 'precondition_failed'],
  handle: (administration: Administration) => async (req, res, asked) => {
    const { collections } = administration
    const caller = actorOf(res)
    const lookup = { ...lookupOf(teams, administration), caller, id: pathId(req.params) }
    const { document: before, decision, writable } = await findWritable(lookup)
    const sent = defined(asked.body())
    const added = (sent.members ?? []).filter((member) => !before.members.includes(member))
    await requireColleagues(administration, caller, added)
    const set = { ...sent, updatedAt: new Date() }
    const after = { ...before, ...set }
    requireSelected(decision, after)
    await refusingTakenName(() =>
      storeChange(administration, teams, {
        ...{ caller, set, before, details: sent },
        selected: { $and: [writable, { name: before.name, members: before.members }] },
        along: (transaction) => takeIn(collections, transaction, added),
      }),
    )
    res.json(teamView(after))
  },
})

/** `/rest/teams`: the teams of the caller's workspace. */
export const teamRoutes: readonly Route<Administration>[] = [
  listRoute(teams, { id: 'listTeams', summary: 'List teams' }),
  createTeam,
  readRoute(teams, { id: 'readTeam', summary: 'Read a team' }),
  changeTeam,
  deleteRoute<Team>(teams, {
    id: 'deleteTeam',
    summary: 'Delete a team',
    description: 'What is assigned to it stays where it is, with the name of the team.',
    details: ({ name, members }) => ({ name, members }),
  }),
]

/** Throws `validation_failed` for anybody whom the caller is not shown as a colleague. */
async function requireColleagues(
  { collections, authorizer }: Administration,
  caller: Caller,
  members: readonly number[],
): Promise<void> {
  if (members.length === 0) return
  const { kind } = await authorizer.decide(caller, 'threads', 'read')
  const selected = { _id: { $in: [...members] } }
  const found = kind === 'none' ? [] : await readersOfThreads({ collections, authorizer }, caller, selected)
  const known = new Set(found.map(({ _id }) => _id))
  if (members.some((member) => !known.has(member))) throw unknownMember()
}

/** Within `transaction`, so that nobody of them is removed at the same time and stays in the team. */
async function takeIn(
  { accounts }: Pick<Collections, 'accounts'>,
  transaction: mongo.ClientSession,
  added: readonly number[],
): Promise<void> {
  const options = { session: transaction }
  const noted = { $inc: { issued: 1 } }
  const { matchedCount } = await accounts.updateMany({ _id: { $in: [...added] } }, noted, options)
  if (matchedCount < added.length) throw unknownMember()
}

function unknownMember(): Problem {
  const message = 'has somebody who is no user who may read threads'
  return new Problem('validation_failed', { errors: [{ path: '/members', code: 'not_found', message }] })
}

/** Two that are made at once conflict, and the second one counts the first. */
async function requireRoom(
  { workspaces, teams }: Pick<Collections, 'workspaces' | 'teams'>,
  session: mongo.ClientSession,
  workspace: number,
): Promise<void> {
  await workspaces.updateOne({ _id: workspace }, { $inc: { teamsMade: 1 } }, { session })
  if ((await teams.countDocuments({ workspace }, { session, limit: MOST_TEAMS })) < MOST_TEAMS) return
  const message = `a workspace has at most ${MOST_TEAMS} teams`
  throw new Problem('validation_failed', { errors: [{ path: '', code: 'too_many', message }] })
}
