import type { Schemas } from '@parley/client'
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button } from '../components/actions.tsx'
import { Badge, Card } from '../components/basics.tsx'
import { PasswordField, SelectField, TextField } from '../components/fields.tsx'
import { InputError } from '../problems.ts'
import { may } from '../rights.ts'
import { hrefOf } from '../router.ts'
import type { SignIn, ToolForm } from '../setup/setup-form.ts'
import { moduleUrlOf, readSpec } from '../setup/spec-operations.ts'
import { MissingTools } from './missing-tools.tsx'

const CONNECTED = '/connected'
const MAX_FILE_BYTES = 4 * 1024 * 1024
const SIGN_INS = [
  { value: 'none', name: 'Nothing' },
  { value: 'apiKey', name: 'An API key' },
  { value: 'token', name: 'A token' },
  { value: 'basic', name: 'A name and a password' },
  { value: 'consent', name: 'Somebody’s consent (OAuth)' },
]
const STORED = { value: 'stored', name: 'What is stored' }

interface Props {
  tools: readonly ToolForm[]
  onChange(tools: readonly ToolForm[]): void
  /** Saves the page. */
  save(): Promise<unknown>
}

/** What the assistant can call: OpenAPI documents and MCP servers, found at a URL or in a file. */
export function AssistantTools({ tools, onChange, save }: Props) {
  const [url, setUrl] = useState('')
  const [notes, setNotes] = useState<readonly string[]>([])
  const isWritable = may('write', 'actions')
  const add = (tool: Omit<ToolForm, 'id' | 'operations' | 'signIn'>) => {
    const id = Math.min(0, ...tools.map((one) => one.id)) - 1
    onChange([...tools, { ...tool, id, operations: null, signIn: { kind: 'none' } }])
  }
  const addSpec = (spec: string, foundAt: string | undefined) => {
    const read = readSpec(spec)
    if (read.problem !== undefined) throw new InputError(read.problem, [])
    const name = read.title || 'Tools'
    const { description } = read
    add({ name, description, specType: 'openapi3-yaml', moduleUrl: moduleUrlOf(read, foundAt), spec })
  }
  const find = async () => {
    setNotes([])
    const body = { url: url.trim() }
    const found = await call<Schemas['DiscoveredTools']>('POST', '/rest/actions/discover', { body })
    setNotes(found.notes)
    if (found.specType === undefined) return
    if (found.specType === 'mcp')
      add({ name: new URL(body.url).host, description: '', specType: 'mcp', moduleUrl: body.url, spec: '' })
    else addSpec(found.spec ?? '', body.url)
    setUrl('')
  }
  const choose = async (file: File | undefined) => {
    if (file === undefined) return
    if (file.size > MAX_FILE_BYTES) return setNotes(['The file is larger than 4 MiB.'])
    try {
      addSpec(await file.text(), undefined)
      setNotes([])
    } catch (error) {
      setNotes([(error as Error).message])
    }
  }
  return (
    <Card title="Tools" note="What it can look up and do">
      <fieldset class="plain" disabled={!isWritable}>
        {tools.map((tool, at) => (
          <Tool
            key={tool.id}
            tool={tool}
            number={at + 1}
            save={save}
            onChange={(changed) => onChange(tools.map((one) => (one.id === tool.id ? changed : one)))}
            onRemove={() => onChange(tools.filter((one) => one.id !== tool.id))}
          />
        ))}
        <MissingTools notes={notes} />
        <TextField
          label="Address of an OpenAPI document or an MCP server"
          type="url"
          value={url}
          onChange={setUrl}
          required={false}
        />
        <div class="actions">
          <Button onClick={find} disabled={url.trim() === ''}>
            Add the tools
          </Button>
          <label class="button plain">
            Choose a file
            <input
              type="file"
              class="hidden"
              accept=".json,.yaml,.yml"
              onChange={(event) => void choose(event.currentTarget.files?.[0])}
            />
          </label>
        </div>
      </fieldset>
    </Card>
  )
}

interface ToolProps {
  tool: ToolForm
  number: number
  save(): Promise<unknown>
  onChange(tool: ToolForm): void
  onRemove(): void
}

function Tool({ tool, number, save, onChange, onRemove }: ToolProps) {
  const [tested, setTested] = useState<Schemas['ActionTest']>()
  const isMcp = tool.specType === 'mcp'
  const read = isMcp ? undefined : readSpec(tool.spec)
  const offered = isMcp
    ? (tested?.tools.map(({ name, description }) => ({ id: name, summary: description })) ?? [])
    : (read?.operations ?? [])
  const test = async () => {
    await save()
    setTested(await call<Schemas['ActionTest']>('POST', `/rest/actions/${tool.id}/test`, { patient: true }))
  }
  const connect = async () => {
    await save()
    const body = { redirectUri: location.origin + hrefOf(CONNECTED) }
    const begun = await call<Schemas['Connection']>('POST', `/rest/actions/${tool.id}/connect`, { body })
    location.assign(begun.authorizationUrl)
  }
  const isStored = tool.id > 0
  const check = (id: string, isChosen: boolean) => {
    const all = offered.map((one) => one.id)
    const before = tool.operations ?? all
    const after = isChosen ? [...before, id] : before.filter((one) => one !== id)
    const isAll = all.every((one) => after.includes(one))
    onChange({ ...tool, operations: isAll ? null : after })
  }
  return (
    <section class="tool-card" aria-label={`Tool ${number}`}>
      <TextField
        label={`Name of tool ${number}`}
        note={isMcp ? tool.moduleUrl : read?.server}
        value={tool.name}
        onChange={(name) => onChange({ ...tool, name })}
        required
      />
      {read?.problem && <p class="field-error">{read.problem}</p>}
      <MissingTools
        notes={(read?.unnamed ?? []).map((one) => `${one} has no operationId, so it is no tool.`)}
      />
      {offered.length > 0 && (
        <details class="more">
          <summary>
            {tool.operations === null
              ? `All of its ${offered.length} operations`
              : `${tool.operations.length} of its ${offered.length} operations`}
          </summary>
          <fieldset class="field choices">
            <legend>Operations of tool {number}</legend>
            {offered.map(({ id, summary }) => (
              <label key={id}>
                <input
                  type="checkbox"
                  checked={tool.operations === null || tool.operations.includes(id)}
                  onChange={(event) => check(id, event.currentTarget.checked)}
                />
                <span>
                  {id} <span class="quiet">{summary}</span>
                </span>
              </label>
            ))}
          </fieldset>
        </details>
      )}
      {may('write', 'configs') && (
        <SignInFields
          signIn={tool.signIn}
          number={number}
          onChange={(signIn) => onChange({ ...tool, signIn })}
        />
      )}
      <div class="actions">
        {isStored && (
          <Button small label={`Test the connection of tool ${number}`} onClick={test}>
            Test connection
          </Button>
        )}
        {isStored && may('write', 'configs') && ['consent', 'stored'].includes(tool.signIn.kind) && (
          <Button small label={`Sign in to tool ${number}`} onClick={connect}>
            Sign in with OAuth
          </Button>
        )}
        <Button small label={`Take out tool ${number}`} onClick={onRemove}>
          Take it out
        </Button>
      </div>
      {tested && (
        <div role="status">
          <p class="line">
            <Badge tone={tested.state === 'working' ? 'good' : 'bad'}>{tested.state}</Badge>
            {`${tested.tools.length} tools in ${tested.ms} ms`}
          </p>
          <MissingTools notes={tested.notes} />
        </div>
      )}
    </section>
  )
}

const BEGUN: Record<string, SignIn> = {
  none: { kind: 'none' },
  stored: { kind: 'stored' },
  consent: { kind: 'consent' },
  apiKey: { kind: 'apiKey', apiKey: '' },
  token: { kind: 'token', token: '' },
  basic: { kind: 'basic', username: '', password: '' },
}

function SignInFields(props: { signIn: SignIn; number: number; onChange(signIn: SignIn): void }) {
  const { signIn, number, onChange } = props
  const [hadStored] = useState(signIn.kind === 'stored')
  return (
    <>
      <SelectField
        label={`Tool ${number} asks for`}
        value={signIn.kind}
        options={hadStored ? [STORED, ...SIGN_INS] : SIGN_INS}
        onChange={(kind) => onChange(BEGUN[kind] ?? { kind: 'none' })}
      />
      {signIn.kind === 'apiKey' && (
        <PasswordField
          label="API key"
          value={signIn.apiKey}
          onChange={(apiKey) => onChange({ ...signIn, apiKey })}
        />
      )}
      {signIn.kind === 'token' && (
        <PasswordField
          label="Token"
          value={signIn.token}
          onChange={(token) => onChange({ ...signIn, token })}
        />
      )}
      {signIn.kind === 'basic' && (
        <>
          <TextField
            label="Name to sign in with"
            value={signIn.username}
            onChange={(username) => onChange({ ...signIn, username })}
          />
          <PasswordField
            label="Password"
            value={signIn.password}
            onChange={(password) => onChange({ ...signIn, password })}
          />
        </>
      )}
    </>
  )
}
