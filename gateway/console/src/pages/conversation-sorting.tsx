import type { Schemas } from '@parley/client'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useColleagues } from '../colleagues.ts'
import { Button, notify, notifyUndoable } from '../components/actions.tsx'
import { Time } from '../components/basics.tsx'
import { useKnownLabels } from '../labels.ts'
import { rich, t } from '../language.ts'
import { messageOf } from '../problems.ts'
import { may, me } from '../rights.ts'
import { hrefOf } from '../router.ts'
import { useStore } from '../store.ts'
import { teamNameOf, teams } from '../teams.ts'
import { nameOf, type Thread } from '../threads.ts'

type ThreadChange = Schemas['ThreadChange']

interface SortingProps {
  thread: Thread
  change(body: object): Promise<void>
}

/** The same, which says itself what went wrong, and whether nothing did. */
interface SaferProps {
  thread: Thread
  change(body: object): Promise<boolean>
}

/** Whose work a conversation is, its labels, and whether it is out of the way. */
export function Sorting({ thread, change: write }: SortingProps) {
  const writable = may('write', 'threads')
  const change = async (body: object) => {
    try {
      await write(body)
      return true
    } catch (error) {
      notify(messageOf(error as Error), 'bad')
      return false
    }
  }
  return (
    <div class="conversation-sorting">
      {writable ? <AssigneeChoice {...{ thread, change }} /> : <AssigneeName thread={thread} />}
      <Labels {...{ thread, change }} isWritable={writable} />
      <div class="actions">
        {thread.status === 'snoozed' && thread.snoozedUntil && (
          <span class="note">
            {rich('Snoozed until {time}', { time: <Time at={thread.snoozedUntil} /> })}
          </span>
        )}
        {thread.status === 'resolved' && <span class="note">{t('Resolved')}</span>}
        {writable && <StatusButtons {...{ thread, change }} />}
      </div>
    </div>
  )
}

function AssigneeName({ thread: { assignee, team } }: { thread: Thread }) {
  const name = assignee?.name ?? (team && teamNameOf(team))
  return (
    <span class="note">
      {name === undefined ? t('Assigned to nobody') : t('Assigned to {name}', { name })}
    </span>
  )
}

function AssigneeChoice({ thread, change }: SaferProps) {
  const { assignee, team } = thread
  const options = useAssigneeOptions(thread)
  const id = useId()
  const current =
    assignee === undefined ? (team === undefined ? '' : `team ${team._id}`) : String(assignee._id)
  return (
    <span class="inline-field">
      <label for={id}>{t('Assigned to')}</label>
      <select
        id={id}
        value={current}
        onChange={(event) => void change(assignedTo(event.currentTarget.value))}
      >
        <option value="">{t('Nobody')}</option>
        {options}
      </select>
      {assignee && team && <span class="note">{t('Team {name}', { name: teamNameOf(team) })}</span>}
    </span>
  )
}

/** Returns the change for a choice of {@link useAssigneeOptions}: a person keeps the team, a team has no person yet. */
export const assignedTo = (value: string): Pick<ThreadChange, 'assignee' | 'team'> =>
  value === ''
    ? { assignee: null, team: null }
    : value.startsWith('team ')
      ? { assignee: null, team: Number(value.slice(5)) }
      : { assignee: Number(value) }

/** To whom a conversation can be assigned, and those to whom it is: for whoever has the choice, which is drawn anew with them. */
export function useAssigneeOptions({ assignee, team }: Pick<Thread, 'assignee' | 'team'>) {
  const colleagues = useColleagues()
  const all = useStore(teams)
  const own = me.get()?._id
  const isKnown = assignee === undefined || colleagues.some(({ _id }) => _id === assignee._id)
  const isThere = team === undefined || all.some(({ _id }) => _id === team._id)
  return (
    <>
      {!isKnown && <option value={String(assignee._id)}>{assignee.name}</option>}
      {!isThere && <option value={`team ${team._id}`}>{t('{name} (gone)', { name: team.name })}</option>}
      {colleagues.map(({ _id, name }) => (
        <option key={_id} value={String(_id)} data-name={name}>
          {_id === own ? t('{name} (me)', { name }) : name}
        </option>
      ))}
      {all.length > 0 && (
        <optgroup label={t('Teams')}>
          {all.map(({ _id, name }) => (
            <option key={_id} value={`team ${_id}`} data-name={name}>
              {name}
            </option>
          ))}
        </optgroup>
      )}
    </>
  )
}

function Labels({ thread: { labels = [] }, change, isWritable }: SaferProps & { isWritable: boolean }) {
  const [isAdding, setAdding] = useState(false)
  const set = (next: string[]) => change({ labels: next })
  return (
    <span class="labels">
      {labels.map((label) => (
        <span key={label} class="tag">
          <a href={hrefOf(`/conversations?label=${encodeURIComponent(label)}`)}>{label}</a>
          {isWritable && (
            <button
              type="button"
              aria-label={t('Remove the label {label}', { label })}
              onClick={() => void set(labels.filter((one) => one !== label))}
            >
              ✕
            </button>
          )}
        </span>
      ))}
      {isWritable &&
        (isAdding ? (
          <NewLabel
            others={labels}
            onAdd={(label) => set([...labels, label])}
            onClose={() => setAdding(false)}
          />
        ) : (
          <button type="button" class="link" onClick={() => setAdding(true)}>
            {t('+ Label')}
          </button>
        ))}
    </span>
  )
}

interface NewLabelProps {
  others: string[]
  onAdd(label: string): Promise<boolean>
  onClose(): void
}

function NewLabel({ others, onAdd, onClose }: NewLabelProps) {
  const id = useId()
  const known = useKnownLabels()
  const [text, setText] = useState('')
  const input = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => input.current?.focus(), [])
  const add = async (event: Event) => {
    event.preventDefault()
    const label = text.trim()
    if (label === '' || others.includes(label) || (await onAdd(label))) onClose()
  }
  return (
    <form class="new-label" data-passing onSubmit={add}>
      <input
        ref={input}
        aria-label={t('A new label')}
        list={id}
        maxLength={64}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && onClose()}
      />
      <datalist id={id}>
        {known
          .filter((label) => !others.includes(label))
          .map((label) => (
            <option key={label} value={label} />
          ))}
      </datalist>
      <Button type="submit" small>
        {t('Add')}
      </Button>
    </form>
  )
}

function StatusButtons({ thread, change }: SaferProps) {
  if (thread.status !== 'open')
    return (
      <Button small onClick={() => change({ status: 'open' })}>
        {t('Reopen')}
      </Button>
    )
  const reopen = () => change({ status: 'open' })
  return (
    <>
      <Snooze {...{ thread, change }} />
      <Button
        small
        onClick={async () => {
          if (await change({ status: 'resolved' }))
            notifyUndoable(t('{name} is resolved.', { name: nameOf(thread) }), reopen)
        }}
      >
        {t('Resolve')}
      </Button>
    </>
  )
}

function Snooze({ thread, change }: SaferProps) {
  const id = useId()
  const [isOther, setOther] = useState(false)
  const [at, setAt] = useState('')
  const until = async (time: Date) => {
    const isDone = await change({ status: 'snoozed', snoozedUntil: time.toISOString() })
    if (isDone)
      notifyUndoable(t('{name} is snoozed.', { name: nameOf(thread) }), () => change({ status: 'open' }))
  }
  if (isOther)
    return (
      <form
        class="new-label"
        data-passing
        onSubmit={async (event) => {
          event.preventDefault()
          await until(new Date(at))
        }}
      >
        <input
          type="datetime-local"
          aria-label={t('Snooze until')}
          required
          min={localTime(new Date())}
          value={at}
          onInput={(event) => setAt(event.currentTarget.value)}
        />
        <Button type="submit" small>
          {t('Snooze')}
        </Button>
      </form>
    )
  return (
    <span class="inline-field">
      <label class="hidden" for={id}>
        {t('Snooze')}
      </label>
      <select
        id={id}
        value=""
        onChange={(event) => {
          const { value } = event.currentTarget
          event.currentTarget.value = ''
          const chosen = snoozes(new Date()).find(({ name }) => name === value)
          if (chosen === undefined) setOther(true)
          else void until(chosen.until)
        }}
      >
        <option value="" disabled>
          {t('Snooze…')}
        </option>
        {snoozes(new Date()).map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
        <option>{t('Another time…')}</option>
      </select>
    </span>
  )
}

const MORNING = 9
const MONDAY = 1

/** When a conversation is put off to, in the viewer's time. */
function snoozes(now: Date): { name: string; until: Date }[] {
  const morning = (days: number) => new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, MORNING)
  const toMonday = (MONDAY + 7 - now.getDay()) % 7 || 7
  return [
    { name: t('For an hour'), until: new Date(now.getTime() + 3_600_000) },
    { name: t('Until tomorrow'), until: morning(1) },
    { name: t('Until Monday'), until: morning(toMonday) },
    { name: t('For a month'), until: morning(30) },
  ]
}

/** As a field for times has it. */
function localTime(time: Date): string {
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
