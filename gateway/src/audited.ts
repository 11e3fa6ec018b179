import type { AuditReports, ReportedAct } from '@parley/shared/audit-acts'
import { type PendingResponse, pathOf, type ReceivedRequest } from '@parley/shared/exchange'
import type { Caller } from '@parley/shared/internal-token'
import type { Forwarding } from './forward.ts'
import type { Upstream } from './routes.ts'

const FORBIDDEN = 403
const MAX_PATH = 256
// Messages that people write and read are in the conversation itself, and a trial or a preview changes nothing.
const NOT_AUDITED = new Set([
  'typing',
  'presence',
  'read',
  'files',
  'reply',
  'preview',
  'estimate',
  'count',
  'try',
  'prompt',
])

/** Reports a request that goes on to a service to the audit log when it has its response, if it is an act or was refused. */
export function reportWhenDone(
  reports: Pick<AuditReports, 'report'>,
  { req, res, upstream }: { req: ReceivedRequest; res: PendingResponse; upstream: Upstream },
): void {
  const isRead = req.method === 'GET' || req.method === 'HEAD'
  res.once('close', () => {
    const { statusCode: status } = res
    if (status !== FORBIDDEN && (isRead || status >= 400 || !isHere(upstream))) return
    const caller = res.locals.caller as Caller | undefined
    const { act: said } = res.locals
    const act = said === 'none' ? undefined : caller && actOf(req.method ?? '', pathOf(req))
    if (caller === undefined || act === undefined) return
    const { account, workspace, token } = caller
    reports.report({
      ...{ workspace: workspace._id, account: account._id, name: account.name.slice(0, MAX_PATH) },
      ...(token !== undefined && { token }),
      ...{ ...act, ...(typeof said === 'string' && WORD.test(said) && { action: said }) },
      ...{ address: (res.locals.forwarding as Forwarding).address },
      ...{ requestId: String(res.locals.requestId), outcome: status === FORBIDDEN ? 'refused' : 'done' },
    })
  })
}

/** Identity writes what it does itself, with what changed; messages that are received have a log of their own. */
const isHere = (upstream: Upstream): boolean => upstream !== 'identity' && upstream !== 'webhook'

const VERBS: Readonly<Record<string, string>> = {
  GET: 'read',
  HEAD: 'read',
  POST: 'create',
  PUT: 'update',
  PATCH: 'update',
  DELETE: 'delete',
}

type Act = Pick<ReportedAct, 'action' | 'resource' | 'document' | 'path'>

/** Returns the act of a request: `POST /rest/threads/7/resolve` is `resolve` of thread 7. Undefined if it is no act. */
export function actOf(method: string, path: string): Act | undefined {
  const [resource = '', ...rest] = path.replace(/^\/api\/auth\/|^\/rest\/|^\//, '').split('/')
  const last = rest.at(-1) ?? ''
  if (method === 'POST' && (resource === 'messages' || resource === 'hooks') && rest.length === 0)
    return undefined
  if (NOT_AUDITED.has(last) || last === 'messages') return undefined
  const document = Number(rest.find((segment) => SMALL_NUMBER.test(segment)) ?? 0)
  const action =
    method === 'POST' && VERB.test(last) && rest.length > 0 ? last : (VERBS[method] ?? method.toLowerCase())
  const shown = path.split('/').map((segment) => (isHarmless(segment) ? segment : '*'))
  return { action, resource, document, path: shown.join('/').slice(0, MAX_PATH) }
}

const SMALL_NUMBER = /^\d{1,7}$/
// A plural names things that are created, such as notes or imports; it is no verb.
const VERB = /^[a-z][a-z-]{0,30}[a-rt-z]$/
const WORD = /^[a-z][a-z-]{0,31}$/
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

/** A phone number has more digits; other ids are chosen by whoever writes. */
const isHarmless = (segment: string): boolean =>
  segment === '' || SMALL_NUMBER.test(segment) || WORD.test(segment) || UUID.test(segment)
