import type { CallContext, ConfiguredBinding } from '@parley/shared/bound-value'
import { ForeignDocumentError, sizeOf } from '@parley/shared/foreign-document'
import type { JsonObject } from '@parley/shared/json-object'
import { nativeServers } from '@parley/shared/native-request'
import { parseExact } from '@parley/shared/parse-json'
import { argumentSchema, checkBy } from './argument-schema.ts'
import { UnboundError } from './bindings.ts'
import { buildRequest, type CallRequest } from './build-request.ts'
import { withConfigured } from './configured-bindings.ts'
import { shortened } from './model-schema.ts'
import {
  type FoundOperation,
  type Operation,
  operationsOf,
  readOperation,
  serverUrl,
  type UnnamedOperation,
} from './operation.ts'
import { isIdempotent } from './repeatable.ts'
import { type SecurityScheme, securityOf } from './security.ts'
import { ArgsError, parseSpec, type SpecDocument, SpecError } from './spec-document.ts'
import { type ListedTool, operationTools, serverTools, type ToolList } from './tool-list.ts'

/** A task on a spec; `key` names the version of the action that it belongs to. */
export type SpecTask = { workspace: number; key: string; spec: string } & (
  | { kind: 'operations' }
  /** The operations as tools of a language model; where `operations` is there, those of these ids or tags alone. */
  | { kind: 'tools'; operations?: readonly string[] | undefined; configured?: readonly ConfiguredBinding[] }
  /** The tools that an MCP server has listed; `spec` is them as JSON text. */
  | { kind: 'server_tools' }
  /** Arguments against the schema that is in `spec` as JSON text. */
  | { kind: 'fits'; args: string }
  /** The arguments come as JSON text. By a module that is `native` the operation's own server is to be called. */
  | ({ kind: 'request'; operationId: string; args: string; moduleUrl: string } & Partial<BindingOfCall>)
)

/** The bound values of a call: by the spec itself and by these, in this context. Without it the caller sets all. */
export interface BindingOfCall {
  configured: readonly ConfiguredBinding[]
  context: CallContext
}

export type SpecResult =
  | { kind: 'operations'; ids: string[] }
  | ({ kind: 'tools' } & ToolList)
  | {
      kind: 'request'
      request: Omit<CallRequest, 'target'> & { url: string }
      /** The security schemes that credentials may fill at that URL. */
      security: SecurityScheme[][]
      /** True if calling it twice does no more than calling it once, according to method and spec. */
      isRepeatable: boolean
      /** True if that holds only under the same `Idempotency-Key`. */
      isKeyed: boolean
    }
  /** Only checked: the arguments fit. `declaresKey` where it is an operation that takes an `Idempotency-Key`. */
  | { kind: 'fits'; declaresKey?: boolean }
  | { kind: 'bad_spec'; reason: string }
  | { kind: 'bad_args'; path: string; reason: string }
  /** The value to bind is not known. */
  | { kind: 'unbound'; reason: string }

/** A parsed spec, its operations read as they are needed. */
export interface ReadSpec {
  document: SpecDocument
  found: Map<string, FoundOperation>
  unnamed: UnnamedOperation[]
  ready: Map<string, Operation>
}

/** Parses a spec and finds its operations. Throws {@link SpecError}. */
export function readSpec(text: string): ReadSpec {
  const document = parseSpec(text)
  return { document, ...operationsOf(document), ready: new Map() }
}

const MAX_REASON = 500
/** Of a result: names and texts of a spec can be referred to any number of times. */
const RESULT_BOUNDS = { nodes: 500_000, text: 4 * 1024 * 1024 }

/** Answers a task, with 4 MiB at most; `read` gives the parsed spec. */
export function runSpecTask(task: SpecTask, read: () => ReadSpec): SpecResult {
  try {
    const result = resultOf(task, read)
    sizeOf(result, RESULT_BOUNDS)
    return result
  } catch (error) {
    const reason = shortened(error instanceof Error ? error.message : '', MAX_REASON)
    if (error instanceof ArgsError)
      return { kind: 'bad_args', path: shortened(error.path, MAX_REASON), reason }
    if (error instanceof UnboundError) return { kind: 'unbound', reason }
    if (error instanceof SpecError) return { kind: 'bad_spec', reason }
    if (error instanceof ForeignDocumentError)
      return { kind: 'bad_spec', reason: 'expands to more than 4 MiB when it is used' }
    // Whatever else a spec sets off is the spec's: a stack overflow, for one.
    return { kind: 'bad_spec', reason: 'can not be worked with' }
  }
}

function resultOf(task: SpecTask, read: () => ReadSpec): SpecResult {
  if (task.kind === 'server_tools')
    return { kind: 'tools', ...serverTools(parseExact(task.spec) as ListedTool[]) }
  if (task.kind === 'fits') return fits(task)
  const spec = read()
  if (task.kind === 'operations') return { kind: 'operations', ids: [...spec.found.keys()] }
  const readOnce = (id: string, found: FoundOperation) => {
    const operation = spec.ready.get(id) ?? readOperation(spec.document, found)
    spec.ready.set(id, operation)
    return operation
  }
  if (task.kind === 'tools')
    return {
      kind: 'tools',
      ...operationTools(spec, readOnce, { chosen: task.operations, configured: task.configured }),
    }
  const found = spec.found.get(task.operationId)
  if (found === undefined) throw new SpecError('has no such operation')
  const { operationId, configured = [], context } = task
  const operation = withConfigured(spec.document, operationId, readOnce(operationId, found), { configured })
  const { target, ...request } = buildRequest(operation, parseExact(task.args) as JsonObject, context)
  const { declaresKey } = operation
  const native = nativeServers(task.moduleUrl)
  if (native === undefined) return { kind: 'fits', declaresKey }
  const url = serverUrl(spec.document, found, native) + target
  const security = securityOf(spec.document, found, { url, native })
  const isOnce = isIdempotent(operation.method)
  const repeated = { isRepeatable: declaresKey || isOnce, isKeyed: declaresKey && !isOnce }
  return { kind: 'request', request: { ...request, url }, security, ...repeated }
}

function fits({ spec, args }: { spec: string; args: string }): SpecResult {
  const root = parseExact(spec) as JsonObject
  checkBy(argumentSchema({ dialect: '2020-12', root }, root))(parseExact(args), '')
  return { kind: 'fits' }
}
