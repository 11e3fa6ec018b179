import { useId, useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button, notify, notifyUndoable } from '../components/actions.tsx'
import { t } from '../language.ts'
import { messageOf } from '../problems.ts'
import type { Thread } from '../threads.ts'
import type { Selection } from './conversation-selection.ts'
import { assignedTo, useAssigneeOptions } from './conversation-sorting.tsx'

const AT_ONCE = 4

interface BulkProps {
  selection: Selection
  rows: readonly Thread[]
  reload(): void
}

/** The changes that can be made to all selected conversations at once. */
export function BulkBar({ selection, rows, reload }: BulkProps) {
  const { chosen, all, end } = selection
  const [done, setDone] = useState<number>()
  const isRunning = done !== undefined
  const run = async (work: Work) => {
    setDone(0)
    const { threads, failed } = await changeAll(chosen, work.change, () =>
      setDone((before = 0) => before + 1),
    )
    setDone(undefined)
    reload()
    report(work, { threads, failed, reload })
    if (failed === undefined) end()
  }
  const isIdle = chosen.length === 0 || isRunning
  return (
    <div class="bulk" role="toolbar" aria-label={t('What is done with those selected')}>
      <p class="line" role="status">
        {isRunning
          ? t('{done} of {count} …', { done, count: chosen.length })
          : t('{count} selected', { count: chosen.length })}
        <button type="button" class="link" onClick={all}>
          {chosen.length === rows.length ? t('None') : t('All {count} loaded', { count: rows.length })}
        </button>
        <button type="button" class="link" onClick={end}>
          {t('Done')}
        </button>
      </p>
      <div class="actions">
        <Button small disabled={isIdle} onClick={() => run(READ)}>
          {t('Mark as read')}
        </Button>
        <Button small disabled={isIdle} onClick={() => run(RESOLVE)}>
          {t('Resolve')}
        </Button>
        <Button small disabled={isIdle} onClick={() => run(REOPEN)}>
          {t('Reopen')}
        </Button>
        <AssignAll isDisabled={isIdle} run={run} />
        <LabelAll isDisabled={isIdle} run={run} />
      </div>
    </div>
  )
}

interface Work {
  /** Returns the text that reports the change of this many. */
  said(count: number): string
  change(thread: Thread): object
  /** Returns the change that restores the former state. */
  undo?(thread: Thread): object
}

const READ: Work = {
  said: (count) =>
    t('{count, plural, one {# conversation is read.} other {# conversations are read.}}', { count }),
  change: () => ({ unread: 0 }),
}
const RESOLVE: Work = {
  said: (count) =>
    t('{count, plural, one {# conversation is resolved.} other {# conversations are resolved.}}', { count }),
  change: () => ({ status: 'resolved' }),
  undo: (thread) => statusOf(thread),
}
const REOPEN: Work = {
  said: (count) =>
    t('{count, plural, one {# conversation is open.} other {# conversations are open.}}', { count }),
  change: () => ({ status: 'open' }),
  undo: (thread) => statusOf(thread),
}

const statusOf = ({ status, snoozedUntil }: Thread): object => ({
  status,
  ...(status === 'snoozed' && { snoozedUntil }),
})

const assignTo = (value: string, name: string): Work => ({
  said: (count) =>
    t(
      '{count, plural, one {# conversation is assigned to {name}.} other {# conversations are assigned to {name}.}}',
      { count, name },
    ),
  change: () => assignedTo(value),
  undo: ({ assignee, team }) => ({ assignee: assignee?._id ?? null, team: team?._id ?? null }),
})

const label = (text: string): Work => ({
  said: (count) =>
    t(
      '{count, plural, one {# conversation has the label {label}.} other {# conversations have the label {label}.}}',
      { count, label: text },
    ),
  change: ({ labels = [] }) => ({ labels: [...new Set([...labels, text])] }),
  undo: ({ labels = [] }) => ({ labels }),
})

/** Some at a time; each is tried, whatever became of the others. */
async function changeAll(
  threads: readonly Thread[],
  change: (thread: Thread) => object,
  onDone: () => void,
): Promise<{ threads: Thread[]; failed: Error | undefined }> {
  const changed: Thread[] = []
  let failed: Error | undefined
  const waiting = [...threads]
  const work = async () => {
    for (let thread = waiting.shift(); thread !== undefined; thread = waiting.shift()) {
      try {
        await call('PATCH', `/rest/threads/${thread._id}`, { body: change(thread) })
        changed.push(thread)
      } catch (error) {
        failed ??= error as Error
      }
      onDone()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { threads: changed, failed }
}

function report(
  { said, undo }: Work,
  { threads, failed, reload }: { threads: Thread[]; failed: Error | undefined; reload(): void },
): void {
  const text = said(threads.length)
  const reverse = async (back: NonNullable<Work['undo']>) => {
    const undone = await changeAll(threads, back, () => undefined)
    reload()
    if (undone.failed !== undefined) throw undone.failed
  }
  if (failed !== undefined)
    notify(t('{text} Others are not: {error}', { text, error: messageOf(failed) }), 'bad')
  else if (undo === undefined) notify(text)
  else notifyUndoable(text, () => reverse(undo))
}

interface ChoiceProps {
  isDisabled: boolean
  run(work: Work): Promise<void>
}

function AssignAll({ isDisabled, run }: ChoiceProps) {
  const id = useId()
  const options = useAssigneeOptions({})
  return (
    <span class="inline-field">
      <label class="hidden" for={id}>
        {t('Assign to')}
      </label>
      <select
        id={id}
        value=""
        disabled={isDisabled}
        onChange={(event) => {
          const { value, selectedOptions } = event.currentTarget
          const name = selectedOptions[0]?.dataset.name ?? ''
          event.currentTarget.value = ''
          void run(value === 'none' ? assignTo('', t('nobody')) : assignTo(value, name))
        }}
      >
        <option value="" disabled>
          {t('Assign to …')}
        </option>
        <option value="none">{t('Nobody')}</option>
        {options}
      </select>
    </span>
  )
}

function LabelAll({ isDisabled, run }: ChoiceProps) {
  const [text, setText] = useState('')
  return (
    <form
      class="new-label"
      data-passing
      onSubmit={async (event) => {
        event.preventDefault()
        if (text.trim() === '') return
        await run(label(text.trim()))
        setText('')
      }}
    >
      <input
        aria-label={t('A label for all of them')}
        placeholder={t('Label')}
        maxLength={64}
        disabled={isDisabled}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <Button type="submit" small disabled={isDisabled || text.trim() === ''}>
        {t('Add')}
      </Button>
    </form>
  )
}
