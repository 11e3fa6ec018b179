import { useRef, useState } from 'preact/hooks'
import { Button, notify } from '../components/actions.tsx'
import { Card, Failure, Loading, PageHead } from '../components/basics.tsx'
import { AreaField, TextField } from '../components/fields.tsx'
import { useSubmit } from '../components/submit.ts'
import { useLoad } from '../load.ts'
import { InputError, messageOf } from '../problems.ts'
import { may } from '../rights.ts'
import { hrefOf, navigate } from '../router.ts'
import { applyWrites, withIds } from '../setup/apply-writes.ts'
import { type ReadSetup, readSetup, sendOver } from '../setup/setup-documents.ts'
import { EMPTY_SETUP, formOf, type SetupForm } from '../setup/setup-form.ts'
import { writesOf } from '../setup/setup-writes.ts'
import { AssistantModel } from './assistant-model.tsx'
import { AssistantTools } from './assistant-tools.tsx'
import { AssistantWorkflow } from './assistant-workflow.tsx'
import { TryAssistant } from './try-assistant.tsx'

const BACK = { href: hrefOf('/assistants/assistant'), label: 'Assistants' }

/** An assistant on one page: who it is, its model, tools and workflow, and a conversation to try it. */
export function AssistantSetupPage({ id }: { id: number | undefined }) {
  const { data, error } = useLoad(`setup ${id}`, (signal) =>
    id === undefined
      ? Promise.resolve<ReadSetup>({ setup: EMPTY_SETUP, tags: new Map() })
      : readSetup(id, signal),
  )
  if (data !== undefined) return <SetupEditor read={data} />
  return (
    <>
      <PageHead title="Assistant" back={BACK} />
      {error ? <Failure error={error} /> : <Loading lines={8} />}
    </>
  )
}

/** What is typed begins with what was read first; what is read later does not replace it. */
function SetupEditor({ read }: { read: ReadSetup }) {
  const [there, setThere] = useState(read.setup)
  const [form, setForm] = useState(() => formOf(read.setup))
  const tags = useRef(read.tags)
  const change = (part: Partial<SetupForm>) => setForm((before) => ({ ...before, ...part }))
  const isWritable = may('write', 'assistant')
  const { assistant } = there

  /** Saves what differs; what was saved before an error is not saved again. */
  const save = async (): Promise<number> => {
    requireComplete(form)
    const writes = writesOf(form, there)
    const applied = await applyWrites(writes, { there, send: sendOver(tags.current) })
    setThere(applied.there)
    if (applied.error !== undefined) {
      setForm(withIds(form, applied.ids))
      throw new InputError(
        `${applied.done} of ${writes.length} changes are saved, the others are not. Save again to go on. ${messageOf(applied.error)}`,
        [],
      )
    }
    setForm(formOf(applied.there))
    return applied.there.assistant?._id as number
  }
  const { busy, error, submit } = useSubmit(async () => {
    const id = await save()
    notify('Saved.')
    navigate(`/assistants/${id}`, { replace: true })
  })
  return (
    <>
      <PageHead title={assistant === undefined ? 'New assistant' : form.name} back={BACK}>
        {assistant !== undefined && (
          <a class="button plain" href={hrefOf(`/assistants/assistant/${assistant._id}`)}>
            All settings and history
          </a>
        )}
      </PageHead>
      <div class="columns setup">
        <form class="setup-form" onSubmit={submit}>
          <Card title="Who it is">
            <fieldset class="plain" disabled={!isWritable}>
              <TextField
                label="Name"
                value={form.name}
                onChange={(name) => change({ name })}
                required
                isFirst={assistant === undefined}
              />
              <AreaField
                label="Who it is and how it speaks"
                value={form.backstory}
                onChange={(backstory) => change({ backstory })}
                rows={3}
                required={false}
              />
              <details class="more">
                <summary>Description, role and goal</summary>
                <TextField
                  label="Description"
                  value={form.description}
                  onChange={(description) => change({ description })}
                  required={false}
                />
                <TextField
                  label="Role"
                  value={form.role}
                  onChange={(role) => change({ role })}
                  required={false}
                />
                <AreaField
                  label="Goal"
                  value={form.goal}
                  onChange={(goal) => change({ goal })}
                  rows={2}
                  required={false}
                />
              </details>
            </fieldset>
          </Card>
          <AssistantModel
            model={form.model}
            there={there}
            onChange={(model) => change({ model })}
            save={save}
          />
          <AssistantTools tools={form.tools} onChange={(tools) => change({ tools })} save={save} />
          <AssistantWorkflow workflow={form.workflow} onChange={(workflow) => change({ workflow })} />
          <Failure error={error} />
          {isWritable && (
            <div class="actions">
              <Button type="submit" kind="primary" disabled={busy}>
                Save
              </Button>
            </div>
          )}
        </form>
        <div class="setup-side">
          {assistant === undefined ? (
            <Card title="Try it" note="Once it is saved">
              <p class="quiet">Save the assistant, and talk to it here. Nobody gets what it says.</p>
            </Card>
          ) : (
            isWritable && <TryAssistant key={assistant._id} id={assistant._id} name={form.name} />
          )}
        </div>
      </div>
    </>
  )
}

/** Throws what has to be said before anything is saved. */
function requireComplete({ name, model, tools, workflow }: SetupForm): void {
  if (name.trim() === '') throw new InputError('The assistant has no name.', [])
  if (model.provider !== '' && model.model.trim() === '') throw new InputError('The model has no name.', [])
  if (model.provider === 'openai-compatible' && model.baseUrl === '')
    throw new InputError('The model’s server has no address.', [])
  if (tools.some((tool) => tool.name.trim() === '')) throw new InputError('A tool has no name.', [])
  if (workflow?.steps.some((step) => step.name.trim() === '')) throw new InputError('A step has no name.', [])
}
