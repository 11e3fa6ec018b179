import type { Schemas } from '@parley/client'
import { useMemo, useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button } from '../components/actions.tsx'
import { TextField } from '../components/fields.tsx'
import { connectAction } from '../connecting.ts'
import { t } from '../language.ts'
import { may, mayAll } from '../rights.ts'
import type { ToolForm } from '../setup/setup-form.ts'
import { type Operation, readSpec } from '../setup/spec-operations.ts'
import { ActionTested } from './action-server.tsx'
import { MissingTools } from './missing-tools.tsx'
import { OtherUsersNote } from './other-users.tsx'
import { SignInFields } from './sign-in-fields.tsx'

interface Props {
  tool: ToolForm
  number: number
  isWritable: boolean
  /** The tools that its server listed when it was found. */
  listed: readonly { name: string; description: string }[]
  /** Something is stored that its server knows it by. */
  hasCredentials: boolean
  /** The names of what else uses it. */
  users: readonly string[]
  /** Saves the page; returns the assistant's id. */
  save(): Promise<number>
  onChange(part: Partial<ToolForm>): void
  onRemove(): void
}

/** An action: its name, which of its operations are chosen, and how its server knows who asks. */
export function AssistantTool(props: Props) {
  const { tool, number, isWritable, listed, hasCredentials, users, save, onChange, onRemove } = props
  const [test, setTest] = useState<{ of: number; result: Schemas['ActionTest'] }>()
  const tested = test?.of === tool.id ? test.result : undefined
  const isMcp = tool.specType === 'mcp'
  const read = useMemo(() => (isMcp ? undefined : readSpec(tool.spec)), [isMcp, tool.spec])
  const offered = isMcp
    ? (tested?.tools ?? listed).map(({ name, description }) => ({
        ...{ id: name, summary: description, tags: [] },
      }))
    : (read?.operations ?? [])
  const isStored = tool.id > 0
  const mayChange = isWritable && may('write', 'actions')
  const mayConfigure = isWritable && mayAll('read', 'configs') && may('write', 'configs')
  const testConnection = async () => {
    await save()
    const path = `/rest/actions/${tool.id}/test`
    setTest({ of: tool.id, result: await call<Schemas['ActionTest']>('POST', path, { patient: true }) })
  }
  const connect = async () => connectAction(tool.id, `/assistants/${await save()}`)
  return (
    <section class="tool-card" aria-label={t('Tool {number}', { number })}>
      <OtherUsersNote names={users} />
      <fieldset class="bare" disabled={!mayChange}>
        <TextField
          label={t('Name of tool {number}', { number })}
          note={isMcp ? tool.moduleUrl : read?.server}
          value={tool.name}
          onChange={(name) => onChange({ name })}
          required
        />
      </fieldset>
      {read?.problem && <p class="field-error">{read.problem}</p>}
      <MissingTools
        notes={(read?.unnamed ?? []).map((operation) =>
          t('{operation} has no operationId, so it is no tool.', { operation }),
        )}
      />
      <Choice {...{ offered, number, onChange }} chosen={tool.operations} isWritable={mayConfigure} />
      {isMcp && offered.length === 0 && isStored && (
        <p class="note">{t('Test the connection to choose among its tools.')}</p>
      )}
      {mayConfigure && (
        <SignInFields
          signIn={tool.signIn}
          {...{ number, hasCredentials }}
          onChange={(signIn) => onChange({ signIn })}
        />
      )}
      <div class="actions">
        {isStored && mayChange && (
          <Button small label={t('Test connection of tool {number}', { number })} onClick={testConnection}>
            {t('Test connection')}
          </Button>
        )}
        {isStored && mayChange && mayConfigure && ['consent', 'stored'].includes(tool.signIn.kind) && (
          <Button small label={t('Connect with OAuth, tool {number}', { number })} onClick={connect}>
            {t('Connect with OAuth')}
          </Button>
        )}
        {isWritable && (
          <Button small label={t('Remove tool {number}', { number })} onClick={onRemove}>
            {t('Remove')}
          </Button>
        )}
      </div>
      {tested && <ActionTested test={tested} />}
    </section>
  )
}

type Offered = Pick<Operation, 'id' | 'summary' | 'tags'>

interface ChoiceProps {
  offered: readonly Offered[]
  /** By their ids or their tags; null for all. */
  chosen: readonly string[] | null
  number: number
  isWritable: boolean
  onChange(part: Pick<ToolForm, 'operations'>): void
}

function Choice({ offered, chosen, number, isWritable, onChange }: ChoiceProps) {
  if (offered.length === 0) return null
  const isChosen = ({ id, tags }: Offered) =>
    chosen === null || [id, ...tags].some((name) => chosen.includes(name))
  const check = (changed: Offered, isNowChosen: boolean) => {
    const ids = offered.filter((one) => (one === changed ? isNowChosen : isChosen(one))).map(({ id }) => id)
    // Tools that are chosen by name but not offered stay chosen.
    const known = new Set(offered.flatMap(({ id, tags }) => [id, ...tags]))
    const others = (chosen ?? []).filter((name) => !known.has(name))
    onChange({ operations: ids.length === offered.length ? null : [...ids, ...others] })
  }
  return (
    <details class="fold">
      <summary>
        {chosen === null
          ? t('{count, plural, one {Its only operation} other {All of its # operations}}', {
              count: offered.length,
            })
          : t('{chosen} of its {all, plural, one {# operation} other {# operations}}', {
              chosen: offered.filter(isChosen).length,
              all: offered.length,
            })}
      </summary>
      <fieldset class="field choices" disabled={!isWritable}>
        <legend>{t('Operations of tool {number}', { number })}</legend>
        {offered.map((one) => (
          <label key={one.id}>
            <input
              type="checkbox"
              checked={isChosen(one)}
              onChange={(event) => check(one, event.currentTarget.checked)}
            />
            <span>
              {one.id} <span class="quiet">{one.summary}</span>
            </span>
          </label>
        ))}
      </fieldset>
    </details>
  )
}
