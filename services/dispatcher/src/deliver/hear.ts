import { personOf } from '../agents/usage/budgets-of.ts'
import { findAudio } from '../channels/media/find-media.ts'
import type { MessageRecord } from '../message/message-record.ts'
import { hasTurns, heard } from '../message/progress.ts'
import type { MessageRun } from './message-run.ts'
import { callKeyOf, loadAgent, resultOfCall, startCall } from './model-call.ts'
import type { StepResult } from './settle-attempt.ts'
import type { AgentMessage } from './work-in-turns.ts'

/** Before the first turn what is said in a message's audio is stored with it, where its assistant has a model that hears. */
export async function hear(run: MessageRun, found: AgentMessage): Promise<StepResult | undefined> {
  const { record } = run
  const { agents, channel, message } = found
  if (hasTurns(record) || record.transcript !== undefined) return undefined
  if (findAudio(record) === undefined) return undefined
  const key = audioKeyOf(record)
  const result = await resultOfCall(run, found, { key, store: ({ text }) => storeTranscript(run, text) })
  if (result !== undefined) return result
  const loaded = await run.calling(() => loadAgent(run, found))
  if (loaded.kind === 'missing' || !agents.hearing.canHear(loaded.agent)) return undefined
  const { agent } = loaded
  return startCall(run, found, {
    key,
    choices: 1,
    media: 'audio',
    ask: (limits) =>
      agents.hearing.hear({
        ...{ agent, record, ...limits },
        config: channel.config,
        person: personOf(message, record.thread),
      }),
  })
}

/**
 * Whether the call that hears a message's audio has failed, which is forgotten then: one that is answered with others is
 * not asked for again.
 */
export function forgetFailedHearing({ record }: MessageRun, { agents }: AgentMessage): boolean {
  const key = audioKeyOf(record)
  const call = agents.calls.find(key)
  if (call?.kind !== 'ended' || call.result.kind === 'answered') return false
  agents.calls.forget(key)
  return true
}

async function storeTranscript(run: MessageRun, text: string): Promise<StepResult> {
  await run.message.commitMerged((current) => heard(current, text))
  return { kind: 'next' }
}

/** Whether the call that hears a message's audio was started, and its result is not stored yet. */
export function isHearing({ record }: MessageRun, { agents }: AgentMessage): boolean {
  return agents.calls.find(audioKeyOf(record)) !== undefined
}

const audioKeyOf = (record: MessageRecord): string => `${callKeyOf(record)}/audio`
