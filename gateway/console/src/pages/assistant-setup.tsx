import { useRef, useState } from 'preact/hooks'
import { Button, notify } from '../components/actions.tsx'
import { Card, Failure, Loading, PageHead } from '../components/basics.tsx'
import { useSubmit } from '../components/submit.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { InputError, isChangedSince } from '../problems.ts'
import { may, mayAll } from '../rights.ts'
import { hrefOf, navigate } from '../router.ts'
import { applyWrites, withIds } from '../setup/apply-writes.ts'
import {
  type ReadAction,
  type ReadSetup,
  readOtherUsers,
  readSetup,
  sendOver,
} from '../setup/setup-documents.ts'
import { EMPTY_SETUP, formOf, type SetupForm, unreadOf } from '../setup/setup-form.ts'
import { writesOf } from '../setup/setup-writes.ts'
import { markSaved } from '../unsaved.ts'
import { AssistantCharacter } from './assistant-character.tsx'
import { AssistantModel } from './assistant-model.tsx'
import { AssistantTools } from './assistant-tools.tsx'
import { AssistantWorkflow } from './assistant-workflow.tsx'
import { TryAssistant } from './try-assistant.tsx'

const BACK = { href: hrefOf('/assistants/assistant'), label: t('Assistants') }

/** An assistant on one page: who it is, its model, tools and workflow, and a conversation to try it. */
export function AssistantSetupPage({ id }: { id: number | undefined }) {
  const shown = useRef<{ id: number | undefined; run: number; made?: number }>({ id, run: 0 })
  const [, setRun] = useState(0)
  const { current } = shown
  // The one that was made here stays as it is on the page, which has its address from then on.
  if (id !== current.id)
    shown.current = id === current.made ? { ...current, id } : { id, run: current.run + 1 }
  const begin = () => {
    shown.current = { id, run: shown.current.run + 1 }
    setRun(shown.current.run)
  }
  const made = (of: number) => {
    shown.current.made = of
    navigate(`/assistants/${of}`, { replace: true })
  }
  return <LoadedSetup key={shown.current.run} {...{ id, begin, made }} />
}

interface Place {
  /** Reads all of it again. */
  begin(): void
  /** The assistant was not there before. */
  made(id: number): void
}

function LoadedSetup({ id: given, ...place }: Place & { id: number | undefined }) {
  const [id] = useState(given)
  const { data, error } = useLoad(`setup ${id}`, (signal) =>
    id === undefined
      ? Promise.resolve<ReadSetup>({ setup: EMPTY_SETUP, tags: new Map() })
      : readSetup(id, signal),
  )
  if (data !== undefined) return <SetupEditor read={data} {...place} />
  return (
    <>
      <PageHead title={t('Assistant')} back={BACK} />
      {error ? <Failure error={error} /> : <Loading lines={8} />}
    </>
  )
}

/** The editor of a setup. Its form starts from the first read; later reads do not replace typed values. */
function SetupEditor({ read, begin, made }: Place & { read: ReadSetup }) {
  const stored = useRef(read)
  const there = stored.current.setup
  const [form, setForm] = useState(() => formOf(there))
  const [partly, setPartly] = useState<{ done: number; total: number; error: Error }>()
  const element = useRef<HTMLFormElement>(null)
  const running = useRef<Promise<number>>(undefined)
  const change = (part: Partial<SetupForm>) => setForm((before) => ({ ...before, ...part }))
  const { assistant } = there
  const unread = unreadOf(there)
  const users = useLoad(`users of ${assistant?._id} ${assistant?.updatedAt}`, () =>
    readOtherUsers(stored.current.setup),
  ).data

  const saveOnce = async (): Promise<number> => {
    requireComplete(form)
    const saved = markSaved(element.current)
    const writes = writesOf(form, there)
    const { tags } = stored.current
    const { error, ...applied } = await applyWrites(writes, { there, send: sendOver(tags) })
    stored.current = { setup: applied.there, tags }
    // Values that were typed meanwhile are not replaced.
    setForm((now) =>
      now === form && error === undefined ? formOf(applied.there) : withIds(now, applied.ids),
    )
    setPartly(error && { error, done: applied.done, total: writes.length })
    // Whoever has gone to another page stays there.
    const isShown = element.current !== null
    if (assistant === undefined && applied.there.assistant && isShown) made(applied.there.assistant._id)
    if (error !== undefined) {
      saved.again()
      throw error
    }
    return applied.there.assistant?._id as number
  }
  /** Saves what differs; what was saved before an error is not saved again. One at a time: a second one is the first. */
  const save = (): Promise<number> => {
    running.current ??= saveOnce().finally(() => {
      running.current = undefined
    })
    return running.current
  }
  const { busy, error, submit } = useSubmit(async () => {
    await save()
    notify(t('Saved.'))
  })
  const addAction = async ({ action, configs, tags }: ReadAction) => {
    await running.current?.catch(() => undefined)
    const { setup } = stored.current
    const isNew = (known: readonly { _id: number }[]) => (one: { _id: number }) =>
      known.every(({ _id }) => _id !== one._id)
    stored.current = {
      setup: {
        ...setup,
        actions: [...setup.actions, ...[action].filter(isNew(setup.actions))],
        configs: [...setup.configs, ...configs.filter(isNew(setup.configs))],
      },
      tags: new Map([...tags, ...stored.current.tags]),
    }
  }
  const isWritable = may('write', 'assistant')
  return (
    <>
      <PageHead title={assistant === undefined ? t('New assistant') : form.name} back={BACK}>
        {assistant !== undefined && (
          <a class="button plain" href={hrefOf(`/assistants/assistant/${assistant._id}`)}>
            {t('All settings and history')}
          </a>
        )}
      </PageHead>
      <div class="columns setup">
        <form ref={element} class="setup-form" onSubmit={submit}>
          <AssistantCharacter
            {...{ form, isWritable, onChange: change }}
            isNew={assistant === undefined}
            isJobUnread={unread.job}
            users={users?.job ?? []}
          />
          <AssistantModel
            model={form.model}
            there={there}
            onChange={(model) => change({ model })}
            save={save}
            isWritable={isWritable && mayAll('read', 'configs') && may('write', 'configs')}
          />
          <AssistantTools
            tools={form.tools}
            there={there}
            onChange={(of) => setForm((before) => ({ ...before, tools: of(before.tools) }))}
            {...{ save, addAction, isWritable }}
            unread={unread.tools}
            users={users?.actions}
          />
          <AssistantWorkflow
            workflow={form.workflow}
            onChange={(workflow) => change({ workflow })}
            unread={unread}
            users={users?.workflow ?? []}
          />
          {partly && (
            <p class="failure">
              {t('{done} of {total} changes are saved, the others are not. Save again to go on.', {
                done: partly.done,
                total: partly.total,
              })}
            </p>
          )}
          <Failure error={partly?.error ?? (error instanceof InputError ? error : undefined)} />
          {isChangedSince(partly?.error) && (
            <div class="actions">
              <Button onClick={begin}>{t('Load it again')}</Button>
              <p class="note">{t('What you typed here is lost then.')}</p>
            </div>
          )}
          {isWritable && (
            <div class="actions setup-save">
              <Button type="submit" kind="primary" disabled={busy}>
                {t('Save')}
              </Button>
            </div>
          )}
        </form>
        <div class="setup-side">
          {assistant === undefined ? (
            <Card title={t('Try it')} note={t('Once it is saved')}>
              <p class="quiet">{t('Save the assistant, and talk to it here. Nobody gets what it says.')}</p>
            </Card>
          ) : (
            isWritable && (
              <TryAssistant
                {...{ id: assistant._id, name: form.name }}
                steps={new Map(form.workflow?.steps.map((step) => [step.id, step.name]))}
              />
            )
          )}
        </div>
      </div>
    </>
  )
}

/** Throws what has to be said before anything is saved. */
function requireComplete({ name, model, tools, workflow }: SetupForm): void {
  if (name.trim() === '') throw new InputError(t('The assistant has no name.'), [])
  if (model.provider !== '' && model.model.trim() === '')
    throw new InputError(t('The model has no name.'), [])
  if (model.provider === 'openai-compatible' && model.baseUrl === '')
    throw new InputError(t('The model’s server has no address.'), [])
  if (tools.some((tool) => tool.name.trim() === '')) throw new InputError(t('A tool has no name.'), [])
  if (workflow?.steps.some((step) => step.name.trim() === ''))
    throw new InputError(t('A step has no name.'), [])
}
