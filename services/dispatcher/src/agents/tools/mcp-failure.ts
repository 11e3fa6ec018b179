import { defined } from '@parley/shared/defined'
import { z } from 'zod'
import { CallError } from '../../channels/http/call-error.ts'
import { outcomeOfFailure } from '../../channels/http/call-outcome.ts'
import { redacted } from '../../functions/credentials.ts'
import { leavesOpen } from '../../functions/repeatable.ts'
import type { ToolOutcome } from '../toolbox.ts'
import { RedirectRefused } from './mcp-fetch.ts'
import { failed, uncertain } from './tool.ts'

const UNAUTHORIZED = 401
const REQUEST_TIMEOUT = -32_001
const CONNECTION_CLOSED = -32_000

/** The outcome of a call. The protocol has no idempotency key, so a call that may have run is not made again unless something says that it may. */
export function outcomeOfMcpError(
  error: unknown,
  { secrets, mayHaveRun }: { secrets: string[]; mayHaveRun: boolean },
): ToolOutcome {
  const reason = redacted(reasonOfMcpError(error), secrets)
  const status = statusOf(error)
  const isFinal = error instanceof RedirectRefused || isRefusedTarget(error) || isResponse(error)
  if (isFinal || (status !== undefined && !leavesOpen(status))) return failed(reason, status)
  const neverLeft = causesOf(error).some((one) => one instanceof CallError && one.failure === 'not_sent')
  if (!mayHaveRun || neverLeft) return { kind: 'unreached', reason }
  return uncertain(reason, defined({ status }))
}

/** True when the server refused who asks. */
export const isUnauthorized = (error: unknown): boolean => statusOf(error) === UNAUTHORIZED

/** An error that the server itself answered with, in the terms of JSON-RPC. */
function isResponse(error: unknown): boolean {
  const { name, code } = error as { name?: unknown; code?: unknown }
  return name === 'McpError' && code !== REQUEST_TIMEOUT && code !== CONNECTION_CLOSED
}

/** The HTTP status, where the SDK says it. */
function statusOf(error: unknown): number | undefined {
  const { code } = error as { code?: unknown }
  return typeof code === 'number' && code >= 100 && code < 600 ? code : undefined
}

function isRefusedTarget(error: unknown): boolean {
  return causesOf(error).some((one) => one instanceof CallError && one.failure === 'refused_target')
}

const MAX_CAUSES = 5

function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = []
  for (let one = error; one instanceof Error && causes.length < MAX_CAUSES; one = one.cause) causes.push(one)
  return causes
}

/** Why a server could not be asked or called, with what may be secret in it. */
export function reasonOfMcpError(error: unknown): string {
  const call = causesOf(error).find((one) => one instanceof CallError)
  if (call !== undefined) return outcomeOfFailure(call).reason
  if (error instanceof z.core.$ZodError) return 'Its answer is not what the protocol says.'
  return error instanceof Error ? error.message : 'It failed.'
}
