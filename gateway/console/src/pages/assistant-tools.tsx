import type { Schemas } from '@parley/client'
import { useRef, useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button } from '../components/actions.tsx'
import { Card } from '../components/basics.tsx'
import { SelectField, TextField } from '../components/fields.tsx'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { InputError } from '../problems.ts'
import { choicesOf } from '../resources.ts'
import { may } from '../rights.ts'
import { type ReadAction, readAction } from '../setup/setup-documents.ts'
import { credentialsOf, type Setup, type ToolForm, toolOf } from '../setup/setup-form.ts'
import { moduleUrlOf, readSpec } from '../setup/spec-operations.ts'
import { AssistantTool } from './assistant-tool.tsx'
import { MissingTools } from './missing-tools.tsx'

const MAX_FILE_BYTES = 4 * 1024 * 1024

type Tools = readonly ToolForm[]
type Listed = Schemas['DiscoveredTools']['tools']

interface Props {
  tools: Tools
  /** The stored setup. */
  there: Setup
  onChange(of: (tools: Tools) => Tools): void
  /** Saves the page; returns the assistant's id. */
  save(): Promise<number>
  /** An action that is there becomes a part of what was read. */
  addAction(read: ReadAction): Promise<void>
  isWritable: boolean
  /** How many there are that can't be read. */
  unread: number
  /** The other users of each action. */
  users: ReadonlyMap<number, readonly string[]> | undefined
}

/** The tools of the assistant: OpenAPI documents and MCP servers, from a URL or a file, and existing actions. */
export function AssistantTools(props: Props) {
  const { tools, there, onChange, save, addAction, isWritable, unread, users } = props
  // The tools that servers list, by URL of the server: they are shown before anything is saved.
  const [listed, setListed] = useState<Readonly<Record<string, Listed>>>({})
  const [url, setUrl] = useState('')
  const [notes, setNotes] = useState<readonly string[]>([])
  const file = useRef<HTMLInputElement>(null)
  const address = useRef<HTMLFieldSetElement>(null)
  const mayMake = isWritable && may('write', 'actions')
  const add = (tool: Omit<ToolForm, 'id' | 'operations' | 'signIn'>) =>
    onChange((before) => {
      const id = Math.min(0, ...before.map((one) => one.id)) - 1
      return [...before, { ...tool, id, operations: null, signIn: { kind: 'none' } }]
    })
  const addSpec = (spec: string, foundAt: string | undefined) => {
    const read = readSpec(spec)
    if (read.problem !== undefined) throw new InputError(read.problem, [])
    if (read.operations.length + read.unnamed.length === 0)
      throw new InputError(t('This is no OpenAPI document, or has no operations.'), [])
    const { title, description } = read
    const name = title || t('Tools')
    add({ name, description, specType: 'openapi3-yaml', moduleUrl: moduleUrlOf(read, foundAt), spec })
  }
  const find = async () => {
    setNotes([])
    const body = { url: url.trim() }
    const found = await call<Schemas['DiscoveredTools']>('POST', '/rest/actions/discover', { body })
    setNotes(found.notes)
    if (found.specType === undefined) return
    if (found.specType === 'mcp') {
      setListed((before) => ({ ...before, [body.url]: found.tools }))
      add({ name: new URL(body.url).host, description: '', specType: 'mcp', moduleUrl: body.url, spec: '' })
    } else addSpec(found.spec ?? '', body.url)
    setUrl('')
    // The next one may follow.
    address.current?.querySelector('input')?.focus()
  }
  const choose = async (chosen: File | undefined) => {
    if (chosen === undefined) return
    if (chosen.size > MAX_FILE_BYTES) return setNotes([t('The file is larger than 4 MiB.')])
    try {
      addSpec(await chosen.text(), undefined)
      setNotes([])
    } catch (error) {
      setNotes([(error as Error).message])
    }
  }
  const pick = async (id: number) => {
    const read = await readAction(id, AbortSignal.timeout(30_000))
    await addAction(read)
    onChange((before) =>
      before.some((one) => one.id === id) ? before : [...before, toolOf(read.action, read)],
    )
  }
  return (
    <Card title={t('Tools')} note={t('What it can look up and do')}>
      {tools.map((tool, at) => (
        <AssistantTool
          key={at}
          {...{ tool, save, isWritable }}
          number={at + 1}
          listed={listed[tool.moduleUrl] ?? []}
          hasCredentials={credentialsOf(there, tool.id) !== undefined}
          users={users?.get(tool.id) ?? []}
          onChange={(part) =>
            onChange((before) => before.map((one) => (one.id === tool.id ? { ...one, ...part } : one)))
          }
          onRemove={() => onChange((before) => before.filter((one) => one.id !== tool.id))}
        />
      ))}
      {unread > 0 && (
        <p class="note">
          {t(
            '{count, plural, one {# more can’t be read: it is gone, or your role may not read it. It stays.} other {# more can’t be read: they are gone, or your role may not read them. They stay.}}',
            { count: unread },
          )}
        </p>
      )}
      <MissingTools notes={notes} />
      {mayMake && (
        <fieldset ref={address} class="bare field-row">
          <TextField
            label={t('Address of an OpenAPI document or an MCP server')}
            type="url"
            value={url}
            onChange={setUrl}
          />
          <div class="actions">
            <Button onClick={find} disabled={url.trim() === ''}>
              {t('Add the tools')}
            </Button>
            <input
              ref={file}
              type="file"
              hidden
              accept=".json,.yaml,.yml"
              onChange={({ currentTarget: input }) => {
                void choose(input.files?.[0])
                input.value = ''
              }}
            />
            <Button onClick={() => file.current?.click()}>{t('Choose a file')}</Button>
          </div>
        </fieldset>
      )}
      {isWritable && may('read', 'actions') && <Existing tools={tools} pick={pick} />}
    </Card>
  )
}

/** The actions that are there and that the assistant does not have. */
function Existing({ tools, pick }: { tools: Tools; pick(id: number): Promise<void> }) {
  const [chosen, setChosen] = useState('')
  const all = useLoad('choices actions', () => choicesOf('actions')).data ?? []
  const others = all.filter(({ value }) => tools.every(({ id }) => id !== value))
  if (others.length === 0) return null
  const add = async () => {
    await pick(Number(chosen))
    setChosen('')
  }
  return (
    <details class="fold">
      <summary>{t('Add one that is there')}</summary>
      <SelectField
        label={t('Action')}
        value={chosen}
        options={[
          { value: '', name: t('Choose …') },
          ...others.map(({ value, name }) => ({ value: String(value), name })),
        ]}
        onChange={setChosen}
      />
      <div class="actions">
        <Button onClick={add} disabled={chosen === ''}>
          {t('Add the action')}
        </Button>
      </div>
    </details>
  )
}
