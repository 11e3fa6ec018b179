import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import { cursorOf, encodeCursor, pageLimit, splitPage } from '@parley/shared/list-query'
import { pageOf } from '@parley/shared/openapi/operation'
import { type Route, route } from '@parley/shared/openapi/route'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import type { Dependencies } from '../../dependencies.ts'
import { historyRoute } from '../../history/history-route.ts'
import {
  findPerson,
  personName,
  personParameter,
  requireReadable,
  visibleTo as visiblePeople,
} from '../../people/find-person.ts'
import { peopleOf } from '../../store/people-collection.ts'
import type { PersonRecord } from '../../store/person-record.ts'
import { RECIPIENT_STATES, type RecipientRecord } from '../../store/recipient-record.ts'
import { CAMPAIGN_STATES } from '../rules/campaign-state.ts'
import { messageIdOf } from '../run/campaign-parts.ts'
import { campaignCollectionsOf } from '../store/campaign-collections.ts'
import {
  type CampaignRoutesNeeded,
  campaignParameter,
  requireCampaign,
  requireCampaignId,
  visibleTo,
} from './campaign-access.ts'
import { campaignView, campaignViewExample } from './campaign-schema.ts'
import { viewOf } from './campaign-view.ts'

const QUERY_MS = 5_000
const EXPORT_BATCH = 1_000

const listCampaigns = route({
  method: 'GET',
  path: '/rest/campaigns',
  access: 'read',
  id: 'listCampaigns',
  tag: 'campaigns',
  summary: 'List campaigns',
  description: 'The newest first.',
  query: z.object({
    state: z.enum(CAMPAIGN_STATES).optional().describe('Where they stand'),
    limit: pageLimit,
    after: cursorOf(z.tuple([z.uuid()])).optional(),
  }),
  response: pageOf('Campaign', campaignView, campaignViewExample),
  handle:
    ({ authorizer, campaigns }: CampaignRoutesNeeded) =>
    async (_req, res, asked) => {
      const caller = callerOf(res)
      const read = await authorizer.require(caller, 'campaigns', 'read')
      const { limit, after, state } = asked.query()
      const found = await campaigns.collections.campaigns
        .find(
          {
            $and: [
              visibleTo(caller, read),
              state === undefined ? {} : { state },
              after === undefined ? {} : { _id: { $lt: after[0] } },
            ],
          },
          { maxTimeMS: QUERY_MS },
        )
        .sort({ _id: -1 })
        .limit(limit + 1)
        .toArray()
      const { page, last } = splitPage(found, limit)
      res.json({ data: page.map(viewOf), next: last === undefined ? null : encodeCursor([last._id]) })
    },
})

const one = { tag: 'campaigns', access: 'read', parameters: [campaignParameter] } as const

const readCampaign = route({
  ...one,
  method: 'GET',
  path: '/rest/campaigns/{id}',
  id: 'readCampaign',
  summary: 'Read a campaign',
  response: { schema: campaignView, example: campaignViewExample },
  errors: ['invalid_id', 'not_found'],
  handle: (needed: CampaignRoutesNeeded) => async (req, res) => {
    const caller = callerOf(res)
    res.json(viewOf(await requireCampaign(needed, { caller, params: req.params, access: 'read' })))
  },
})

const time = z.iso.datetime()

const recipientView = z
  .object({
    person: z.string().describe('Their `_id`'),
    name: z.string().optional().describe('In the list, for who may read the person'),
    addresses: z.array(z.string()).optional().describe('In the list, for who may read the person'),
    state: z
      .enum(RECIPIENT_STATES)
      .describe(
        '`claimed` and `posted` are under way, `deferred` is tried again later; then as their message is',
      ),
    reason: z.string().optional().describe('Why they were left out, or why their message failed'),
    code: z.string().optional().describe('The provider’s code, or ours, of that'),
    message: z.string().optional().describe('The `_id` of their message in the log'),
    due: time.describe('Not written to before then'),
    sentAt: time.optional(),
    category: z.string().optional(),
    billable: z.boolean().optional(),
    repliedAt: time.optional(),
    optedOutAt: time.optional(),
    updatedAt: time,
  })
  .meta({ id: 'CampaignRecipient', description: 'One person of a campaign’s audience' })
const recipientExample = {
  person: '0198c0de-1111-7000-8000-3f6d5a4b2c10',
  name: 'Marta Lima',
  addresses: ['phone:5511988887777'],
  state: 'delivered' as const,
  message: '48341280-0a59-806f-9695-a1f7fc5fde77',
  due: '2026-11-27T12:00:00.000Z',
  sentAt: '2026-11-27T12:00:01.000Z',
  updatedAt: '2026-11-27T12:00:02.000Z',
}

function recipientOf(recipient: RecipientRecord) {
  const {
    person,
    state,
    reason,
    code,
    due,
    claimedAt,
    category,
    billable,
    repliedAt,
    optedOutAt,
    updatedAt,
  } = recipient
  const wasPosted = recipient.postedAt !== undefined
  return {
    ...{ person, state, reason, code, due, category, billable, repliedAt, optedOutAt, updatedAt },
    ...(wasPosted && { message: messageIdOf(recipient), sentAt: claimedAt }),
  }
}

const MOST_OF_PERSON = 20
const { person: _person, name: _name, addresses: _addresses, ...ofRecipient } = recipientView.shape
const personCampaign = z
  .object({ _id: z.uuid(), name: z.string(), ...ofRecipient })
  .meta({ id: 'PersonCampaign', description: 'A campaign, and what became of its message to one person' })
const { person: _of, name: _called, addresses: _known, ...exampleOfRecipient } = recipientExample

const listCampaignsOfPerson = route({
  method: 'GET',
  path: '/rest/people/{id}/campaigns',
  access: 'read',
  id: 'listPersonCampaigns',
  tag: 'people',
  summary: 'List the campaigns that wrote to a person',
  description: `The latest ${MOST_OF_PERSON}, newest first, of which the caller may read the campaign: what became of its message.`,
  parameters: [personParameter],
  response: {
    schema: z.object({ data: z.array(personCampaign) }).meta({ id: 'PersonCampaigns' }),
    example: {
      data: [{ _id: campaignViewExample._id, name: campaignViewExample.name, ...exampleOfRecipient }],
    },
  },
  errors: ['invalid_id', 'not_found'],
  handle: (needed: CampaignRoutesNeeded) => async (req, res) => {
    const { authorizer } = needed
    const caller = callerOf(res)
    const workspace = caller.workspace._id
    const read = await authorizer.require(caller, 'people', 'read')
    const person = requireReadable(read, await findPerson(needed, workspace, personName(req.params)))
    const written = await writtenTo(needed, person)
    const names = await namesOf(needed, caller, written)
    const data = written.flatMap((recipient) => {
      const name = names.get(recipient.campaign)
      const { person: _who, ...became } = recipientOf(recipient)
      return name === undefined ? [] : [{ _id: recipient.campaign, name, ...became }]
    })
    res.json({ data })
  },
})

/** The latest that campaigns did about a person, also under the ids of those who turned out to be them. */
function writtenTo(
  { campaigns }: CampaignRoutesNeeded,
  { _id, workspace, joined = [] }: PersonRecord,
): Promise<RecipientRecord[]> {
  return campaigns.collections.recipients
    .find(
      { workspace, person: { $in: [_id, ...joined] }, claimedAt: { $exists: true } },
      { maxTimeMS: QUERY_MS },
    )
    .sort({ claimedAt: -1 })
    .limit(MOST_OF_PERSON)
    .toArray()
}

/** The names of the campaigns that the caller may read. */
async function namesOf(
  { authorizer, campaigns }: CampaignRoutesNeeded,
  caller: Caller,
  written: readonly RecipientRecord[],
): Promise<ReadonlyMap<string, string>> {
  const read = await authorizer.decide(caller, 'campaigns', 'read')
  const ids = written.map(({ campaign }) => campaign)
  if (read.kind === 'none' || ids.length === 0) return new Map()
  const found = await campaigns.collections.campaigns
    .find({ $and: [visibleTo(caller, read), { _id: { $in: ids } }] }, { maxTimeMS: QUERY_MS })
    .toArray()
  return new Map(found.map(({ _id, name }) => [_id, name]))
}

const recipientFilter = {
  state: z.enum(RECIPIENT_STATES).optional().describe('Where they stand'),
  reason: z.string().max(200).optional().describe('Why they were left out, or why their message failed'),
}

const listRecipients = route({
  ...one,
  method: 'GET',
  path: '/rest/campaigns/{id}/recipients',
  id: 'listCampaignRecipients',
  summary: 'List the people of a campaign',
  query: z.object({
    ...recipientFilter,
    limit: pageLimit,
    after: cursorOf(z.tuple([z.string().max(128)])).optional(),
  }),
  response: pageOf('CampaignRecipient', recipientView, recipientExample),
  errors: ['invalid_id', 'not_found'],
  handle: (needed: CampaignRoutesNeeded) => async (req, res, asked) => {
    const caller = callerOf(res)
    const { _id: campaign } = await requireCampaign(needed, { caller, params: req.params, access: 'read' })
    const { limit, after, ...filter } = asked.query()
    const found = await recipientsAfter(needed, { campaign, after: after?.[0], filter, limit: limit + 1 })
    const { page, last } = splitPage(found, limit)
    const people = await readablePeople(needed, { caller, ids: page.map(({ person }) => person) })
    const data = page.map((recipient) => ({ ...people.get(recipient.person), ...recipientOf(recipient) }))
    res.json({ data, next: last === undefined ? null : encodeCursor([last.person]) })
  },
})

/** Returns the people of these ids, as far as the caller may read them. */
async function readablePeople(
  { connection, authorizer }: CampaignRoutesNeeded,
  { caller, ids }: { caller: Caller; ids: readonly string[] },
): Promise<ReadonlyMap<string, Pick<PersonRecord, 'name' | 'addresses'>>> {
  const read = await authorizer.decide(caller, 'people', 'read')
  if (read.kind === 'none' || ids.length === 0) return new Map()
  const found = await peopleOf(connection)
    .find({ $and: [visiblePeople(caller, read), { _id: { $in: [...ids] } }] }, { maxTimeMS: QUERY_MS })
    .project<Pick<PersonRecord, '_id' | 'name' | 'addresses'>>({ name: 1, addresses: 1 })
    .toArray()
  return new Map(found.map(({ _id, name, addresses }) => [_id, { ...defined({ name }), addresses }]))
}

function recipientsAfter(
  { campaigns }: CampaignRoutesNeeded,
  {
    campaign,
    after = '',
    filter,
    limit,
  }: {
    campaign: string
    after?: string | undefined
    filter: { state?: RecipientRecord['state'] | undefined; reason?: string | undefined }
    limit: number
  },
): Promise<RecipientRecord[]> {
  const { state, reason } = filter
  return campaigns.collections.recipients
    .find(
      {
        _id: { $gt: `${campaign}/${after}`, $lt: `${campaign}0` },
        ...(state !== undefined && { state }),
        ...(reason !== undefined && { reason }),
      },
      { maxTimeMS: QUERY_MS, hint: { _id: 1 } },
    )
    .sort({ _id: 1 })
    .limit(limit)
    .toArray()
}

const exportRecipients = route({
  ...one,
  method: 'GET',
  path: '/rest/campaigns/{id}/export',
  id: 'exportCampaign',
  summary: 'Export what became of a campaign',
  description:
    'One line of JSON for each person of its audience, as the list of recipients has them. It is whole where its last line is `{"end":true}` with their number.',
  query: z.object(recipientFilter),
  response: {
    schema: z.string(),
    example:
      '{"person":"0198c0de-1111-7000-8000-3f6d5a4b2c10","state":"delivered"}\n{"end":true,"recipients":1}\n',
    types: ['application/x-ndjson'],
  },
  errors: ['invalid_id', 'not_found'],
  handle: (needed: CampaignRoutesNeeded) => async (req, res, asked) => {
    const caller = callerOf(res)
    const { _id: campaign } = await requireCampaign(needed, { caller, params: req.params, access: 'read' })
    const filter = asked.query()
    res.set({
      'content-type': 'application/x-ndjson',
      'content-disposition': `attachment; filename="campaign-${campaign}.ndjson"`,
    })
    let recipients = 0
    for (let after: string | undefined, more = true; more; ) {
      const found: RecipientRecord[] = await recipientsAfter(needed, {
        campaign,
        after,
        filter,
        limit: EXPORT_BATCH,
      })
      const isTaken = res.write(found.map((one) => `${JSON.stringify(recipientOf(one))}\n`).join(''))
      if (!isTaken && !res.closed)
        await new Promise((resolve) => res.once('drain', resolve).once('close', resolve))
      recipients += found.length
      after = found.at(-1)?.person
      more = found.length === EXPORT_BATCH && !res.closed
    }
    res.end(`${JSON.stringify({ end: true, recipients })}\n`)
  },
})

const campaignHistory = historyRoute({
  ...{ resource: 'campaigns', title: 'Campaign', one: 'a campaign', tag: 'campaigns' },
  parameter: campaignParameter,
  example: {
    ...{ version: 2, operation: 'updated', at: '2026-11-28T12:00:00.000Z' },
    by: { _id: 1, username: 'ana@example.com' },
    changes: [{ path: '/state', before: 'draft', after: 'scheduled' }],
  },
  idOf: requireCampaignId,
  find: async (connection, { workspace, id, session }) => {
    const { campaigns } = campaignCollectionsOf(connection)
    return (await campaigns.findOne({ _id: id, workspace }, { session })) ?? undefined
  },
})

export const readCampaignRoutes: readonly Route<Dependencies & CampaignRoutesNeeded>[] = [
  ...[listCampaigns, readCampaign, listRecipients, exportRecipients, listCampaignsOfPerson],
  campaignHistory,
]
