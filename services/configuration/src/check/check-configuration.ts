import { CONFIGURATION_RESOURCES, type ResourceName } from '@parley/shared/configuration-resources'
import { pointerSegment } from '@parley/shared/json-object'
import { encodeCursor, parameterError } from '@parley/shared/list-query'
import { mapSecrets } from '@parley/shared/map-secrets'
import { mapYielding } from '@parley/shared/map-yielding'
import { pageOf } from '@parley/shared/openapi/operation'
import { route } from '@parley/shared/openapi/route'
import { inAcceptedLanguage } from '@parley/shared/problem-texts'
import { openSecrets } from '@parley/shared/sealed-value'
import { MASK } from '@parley/shared/secret-names'
import { looksLikeKey, SEALED_PREFIX } from '@parley/shared/secret-urls'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import { documentFilter } from '../access/access.ts'
import type { Dependencies } from '../documents/dependencies.ts'
import { type FoundReference, type Lookup, referencesIn } from '../references/find-referenced.ts'
import { listCursor, positionIn } from '../requests/list-query.ts'
import { allResources, definitions } from '../resources/all-resources.ts'
import { findPage, type Position } from '../store/find-page.ts'
import { LIVE, type ResourceDocument } from '../store/stored-document.ts'
import { checkActions } from './check-actions.ts'
import { checkChannels, checkConfigs, checkTasks } from './check-channels.ts'
import { checkSteps, checkWorkflows, loadStepGraph } from './check-steps.ts'
import { type Batch, type Finding, finding } from './finding.ts'

const IDS_PER_QUERY = 5_000
const MAX_PER_DOCUMENT = 100

const INSTEAD =
  'an action has its key in a config named credentials (headers for an MCP server); what is posted to handlers and receivers is signed, which they can check'

const FINDINGS = {
  user: { code: 'user_information', message: `the URL has user information; ${INSTEAD}` },
  query: { code: 'key_in_url', message: `the query of the URL looks like a key; ${INSTEAD}` },
} as const satisfies Record<string, Pick<Finding, 'code' | 'message'>>

const BATCH = 200
const MAX_FINDINGS = 500
const MAX_MS = 3_000
const SORT_TEXT = 'check'
const checkQuery = z.object({ after: listCursor.optional() })

const checks: Partial<Record<ResourceName, (batch: Batch) => Finding[] | Promise<Finding[]>>> = {
  channels: checkChannels,
  tasks: checkTasks,
  steps: checkSteps,
  configs: checkConfigs,
  actions: checkActions,
  workflows: checkWorkflows,
  subscriptions: checkSubscriptions,
}

/** As far as the caller may read the configuration. */
export const checkConfiguration = route({
  method: 'GET',
  path: '/rest/check',
  access: 'token',
  id: 'checkConfiguration',
  tag: 'configuration',
  summary: 'List what is wrong with the configuration',
  description:
    'Up to 500 findings, or what is found in 3 seconds; `next` goes on from there. Specs that were not read by then are `not_checked`; a further check goes on with them. `message` is in the language of `Accept-Language`.',
  query: checkQuery,
  response: pageOf('Finding', finding, {
    code: 'dangling_reference',
    resource: 'assistant',
    _id: 1,
    path: '/job',
    message: 'there is no jobs/7',
  }),
  handle:
    ({ database, authorizer, secrets, specs }: Dependencies) =>
    async (req, res, asked) => {
      const start = startOf(asked.query().after)
      const caller = callerOf(res)
      const until = performance.now() + MAX_MS
      const opened: Batch['opened'] = (doc) => openSecrets(doc, secrets, caller.workspace._id)
      const steps = await loadStepGraph(database, caller.workspace._id)
      const data: Finding[] = []
      const translated = (findings: readonly Finding[]) =>
        inAcceptedLanguage(req, res, (text) =>
          findings.map((one) => ({ ...one, message: text(one.message) })),
        )
      for await (const { batch, next } of batches({ database, authorizer, caller }, start)) {
        data.push(...(await checkBatch({ ...batch, steps, opened, specs, until })))
        const isEnough = data.length >= MAX_FINDINGS || performance.now() > until
        if (isEnough && next !== undefined) return void res.json({ data: translated(data), next })
      }
      res.json({ data: translated(data), next: null })
    },
})

interface Start {
  resource: ResourceName
  after?: Position
}

/** All that the caller may read from `start` on, with the cursor of what follows in the same resource. */
async function* batches({ database, authorizer, caller }: Lookup, start: Start) {
  const workspace = caller.workspace._id
  for (const definition of allResources.slice(CONFIGURATION_RESOURCES.indexOf(start.resource))) {
    const read = await authorizer.decide(caller, definition.name, 'read')
    if (read.kind === 'none') continue
    const visible = documentFilter(read)
    let after: Position | undefined = definition.name === start.resource ? start.after : undefined
    do {
      const page = await findPage(database, definition, {
        workspace,
        after,
        limit: BATCH,
        visible,
        filters: [],
        sort: { field: '_id', descending: false },
      })
      after = page.end
      const documents = page.documents.map(({ doc }) => doc)
      const versions = new Map(page.documents.map(({ doc, version }) => [doc._id, version]))
      yield {
        batch: { database, workspace, definition, documents, versions, visible },
        next: after && encodeCursor([SORT_TEXT, definition.name, after.id]),
      }
    } while (after)
  }
}

async function checkBatch(batch: Batch): Promise<Finding[]> {
  const own = checks[batch.definition.name]
  return [...(await checkReferences(batch)), ...(own ? await own(batch) : []), ...(await checkUrls(batch))]
}

function startOf(cursor: z.output<typeof checkQuery>['after']): Start {
  if (cursor === undefined) return { resource: CONFIGURATION_RESOURCES[0] }
  const { value, id } = positionIn(cursor, SORT_TEXT)
  if (typeof value !== 'string' || !Object.hasOwn(definitions, value)) {
    throw parameterError('after', 'is not a cursor of a check', 'invalid_cursor')
  }
  return { resource: value as ResourceName, after: { value: null, id } }
}

/** URLs with user information, and URLs whose query looks like a key. What they are is not shown. */
async function checkUrls({ definition, documents, opened }: Batch): Promise<Finding[]> {
  const ofEach = await mapYielding(documents, (doc) => findingsOf(definition.name, opened(doc)))
  return ofEach.flatMap((findings) => findings.slice(0, MAX_PER_DOCUMENT))
}

function findingsOf(resource: Finding['resource'], doc: ResourceDocument): Finding[] {
  const findings: Finding[] = []
  mapSecrets(doc, (secret, { path, part }) => {
    const text = String(secret)
    const isKnown = text !== MASK && !text.startsWith(SEALED_PREFIX)
    if (part === undefined || !isKnown || (part.kind === 'query' && !looksLikeKey(text))) return secret
    const at = path.map((key) => `/${pointerSegment(key)}`).join('')
    findings.push({ ...FINDINGS[part.kind], resource, _id: doc._id, path: at })
    return secret
  })
  return findings
}

/** References to documents that are not there, whoever may see them; at most 100 of one document. */
async function checkReferences(batch: Batch): Promise<Finding[]> {
  const { definition, documents } = batch
  const references = documents.map((doc) => ({ doc, references: referencesIn(definition, doc) }))
  const there = await findThere(
    batch,
    references.flatMap(({ references }) => references),
  )
  return references.flatMap(({ doc, references }) =>
    references
      .filter(({ to, id }) => !there.has(`${to}/${id}`))
      .slice(0, MAX_PER_DOCUMENT)
      .map(({ path, to, id }) => ({
        code: 'dangling_reference' as const,
        resource: definition.name,
        _id: doc._id,
        path,
        message: `there is no ${to}/${id}`,
      })),
  )
}

async function findThere(batch: Batch, references: FoundReference[]): Promise<Set<string>> {
  const there = new Set<string>()
  for (const [to, group] of Map.groupBy(references, ({ to }) => to)) {
    for (const id of await idsThere(batch, to, [...new Set(group.map(({ id }) => id))]))
      there.add(`${to}/${id}`)
  }
  return there
}

async function idsThere({ database, workspace }: Batch, to: ResourceName, ids: number[]): Promise<number[]> {
  const found: number[] = []
  for (let at = 0; at < ids.length; at += IDS_PER_QUERY) {
    const some = ids.slice(at, at + IDS_PER_QUERY).map((id) => ({ workspace, id }))
    const stored = await database
      .documents(to)
      .find({ _id: { $in: some }, ...LIVE })
      .project<{ _id: { id: number } }>({ _id: 1 })
      .toArray()
    found.push(...stored.map(({ _id }) => _id.id))
  }
  return found
}

/** Subscriptions that get nothing: deliveries are given up, too many wait, or they were turned off for it. */
function checkSubscriptions({ documents }: Batch): Finding[] {
  return documents.flatMap(({ _id, failing, full, disabled }) => [
    ...markFinding(_id, 'failing_subscription', '/failing', failing),
    ...markFinding(_id, 'full_subscription', '/full', full),
    ...markFinding(_id, 'disabled_subscription', '/disabled', disabled),
  ])
}

function markFinding(
  _id: ResourceDocument['_id'],
  code: Finding['code'],
  path: string,
  mark: unknown,
): Finding[] {
  const { reason } = (mark ?? {}) as { reason?: string }
  if (reason === undefined) return []
  return [{ code, resource: 'subscriptions', _id, path, message: reason }]
}
