import type { Schemas } from '@parley/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button } from '../components/actions.tsx'
import { Card, Failure, Json } from '../components/basics.tsx'
import { SelectField } from '../components/fields.tsx'
import { ScrollRegion } from '../components/scroll-region.tsx'
import { useSubmit } from '../components/submit.ts'
import { Turns } from '../components/turns.tsx'
import { numbered } from '../format.ts'
import { t } from '../language.ts'
import { costOf, type Turn } from '../messages.ts'
import { InputError } from '../problems.ts'
import { reasonOf } from '../words.ts'
import { MissingTools } from './missing-tools.tsx'

type Trial = Schemas['Trial']
type Settings = Pick<Schemas['TrialBody'], 'tools' | 'type'>

/** A line of a trial, by the person who tries or by the assistant. */
type Said = { role: 'person'; text: string } | { role: 'assistant'; trial: Trial }

// The API takes 200 at most.
const MOST_MESSAGES = 199
const TOOLS = [
  { value: 'describe', name: t('Only say what would be called') },
  { value: 'call', name: t('Call them') },
]
const TYPES = [
  { value: 'taskManager', name: t('Tools and workflow') },
  { value: 'functionCall', name: t('Tools') },
  { value: 'chat', name: t('Conversation only') },
]

interface Props {
  id: number
  name: string
  /** The names of steps, by their ids, as far as they are known. */
  steps?: ReadonlyMap<number, string>
}

/** A conversation with an assistant that reaches nobody; its tools are shown, and called where that is chosen. */
export function TryAssistant({ id, name, steps = new Map() }: Props) {
  const [said, setSaid] = useState<Said[]>([])
  const [settings, setSettings] = useState<Settings>({ tools: 'describe', type: 'taskManager' })
  const [text, setText] = useState('')
  const end = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (said.length > 0) end.current?.scrollIntoView({ block: 'nearest' })
  }, [said])
  const { busy, error, submit } = useSubmit(async () => {
    if (text.trim() === '') return
    const conversation: Said[] = [...said, { role: 'person', text }]
    setSaid(conversation)
    setText('')
    try {
      const body = { ...settings, messages: messagesOf(conversation) }
      const trial = await call<Trial | { title: string; detail?: string }>(
        'POST',
        `/rest/assistant/${id}/try`,
        {
          body,
          patient: true,
        },
      )
      // A trial that takes long has begun its answer with 200 before it fails.
      if ('title' in trial) throw new InputError(trial.detail ?? trial.title, [])
      setSaid([...conversation, { role: 'assistant', trial }])
    } catch (thrown) {
      // The text that was written is there to be sent again, before the text that was typed meanwhile.
      setSaid(said)
      setText((now) => [text, now].filter(Boolean).join('\n'))
      throw thrown
    }
  })
  return (
    <Card
      title={t('Try it')}
      note={t('Nobody gets what it says here')}
      action={
        said.length > 0 &&
        !busy && (
          <Button small onClick={() => setSaid([])}>
            {t('Start anew')}
          </Button>
        )
      }
    >
      <ScrollRegion class="bubbles trial" role="log" label={t('What was said to {name}', { name })}>
        {said.map((one, at) => (
          <Message key={at} said={one} />
        ))}
        {busy && (
          <p class="typing" role="status">
            {t('{name} is at it …', { name })}
          </p>
        )}
        <div ref={end} />
      </ScrollRegion>
      <TaskState trial={lastTrial(said)} steps={steps} />
      <Failure error={error} />
      <form class="say" onSubmit={submit} data-passing>
        <textarea
          aria-label={t('A message to {name}', { name })}
          placeholder={t('Write what a person might say')}
          rows={2}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) void submit(event)
          }}
        />
        <Button type="submit" kind="primary" disabled={busy || text.trim() === ''}>
          {t('Send')}
        </Button>
      </form>
      <div class="filters">
        <SelectField
          label={t('Tools')}
          value={settings.tools}
          options={TOOLS}
          onChange={(tools) => setSettings((before) => ({ ...before, tools: tools as Settings['tools'] }))}
        />
        <SelectField
          label={t('It works with')}
          value={settings.type ?? 'taskManager'}
          options={TYPES}
          onChange={(type) => setSettings((before) => ({ ...before, type: type as Settings['type'] }))}
        />
      </div>
    </Card>
  )
}

function lastTrial(said: readonly Said[]): Trial | undefined {
  const last = said.findLast((one) => one.role === 'assistant')
  return last?.role === 'assistant' ? last.trial : undefined
}

/** Where the task is that the trial has begun, and what its state has. */
function TaskState({ trial, steps }: { trial: Trial | undefined; steps: ReadonlyMap<number, string> }) {
  // A dispatcher of the release before says none.
  if (trial?.task == null) return null
  const { name, currentStep, state } = trial.task
  const step = steps.get(currentStep) ?? numbered(currentStep)
  return (
    <div>
      <p class="note">{t('The task {name} is at the step {step}.', { name, step })}</p>
      {Object.keys(state).length > 0 && <Json title={t('Its state')} value={state} />}
    </div>
  )
}

function Message({ said }: { said: Said }) {
  if (said.role === 'person') return <p class="bubble theirs">{said.text}</p>
  // A dispatcher of the release before has no notes.
  const { turns, state, reason, notes = [] } = said.trial
  return (
    <>
      <Turns turns={turns} />
      <MissingTools notes={notes} />
      {state === 'dead' && (
        <p class="failure">{reason === undefined ? t('It could not answer.') : reasonOf(reason)}</p>
      )}
      {state === 'done' && reason === 'handed_off' && (
        <p class="note mark">{t('It hands over to a person')}</p>
      )}
      {turns.length > 0 && <p class="note mark">{costOf(turns)}</p>}
    </>
  )
}

/** The conversation as the API takes it: what was really said, and not too much of it. */
function messagesOf(conversation: Said[]): Spoken[] {
  const spoken = conversation.flatMap((one): Spoken[] =>
    one.role === 'person'
      ? [{ role: one.role, text: one.text }]
      : one.trial.turns.map(({ text, calls }) => ({ role: one.role, text, calls: calls.filter(hasResult) })),
  )
  return spoken.filter(({ text, calls = [] }) => text !== '' || calls.length > 0).slice(-MOST_MESSAGES)
}

type Spoken = Schemas['TrialBody']['messages'][number]
type Call = Turn['calls'][number]

const hasResult = (call: Call): call is Call & Required<Pick<Call, 'result'>> => call.result !== undefined
