import { RULED_RESOURCES } from '@parley/shared/configuration-resources'
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button, DeleteButton, Dialog, notify } from '../components/actions.tsx'
import { Badge, Card, Empty, Failure, Time } from '../components/basics.tsx'
import { AreaField, SelectField, TextField } from '../components/fields.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { useSubmit } from '../components/submit.ts'
import { rich, t } from '../language.ts'
import { useLoad } from '../load.ts'
import type { Role } from '../people.ts'
import { InputError } from '../problems.ts'
import { may, me } from '../rights.ts'
import { type Entry, entriesOf, type RoleRights, rightsOf } from '../role-rights.ts'
import { hrefOf } from '../router.ts'
import { wordOf } from '../words.ts'
import { RoleGrid } from './role-grid.tsx'

/** The roles, and for each what it comes to. */
export function Roles({ id }: { id: string | undefined }) {
  const list = useList<Role>('/rest/roles')
  const [editing, setEditing] = useState<Role | 'new'>()
  const writable = may('write', 'roles')
  const chosen = list.rows?.find((role) => String(role._id) === id)
  const own = me.get()?.role._id
  const columns: Column<Role>[] = [
    { name: t('Name'), cell: ({ name, _id }) => (_id === own ? t('{name} (yours)', { name }) : name) },
    { name: t('Entries'), cell: ({ permissions }) => permissions.length },
    { name: t('Version'), wide: true, cell: ({ version }) => version },
    { name: t('Changed'), wide: true, cell: ({ updatedAt }) => <Time at={updatedAt} relative /> },
    ...(writable
      ? [
          {
            name: t('Actions'),
            cell: (role: Role) => (
              <div class="actions">
                <Button
                  small
                  label={t('Change {name}', { name: role.name })}
                  onClick={() => setEditing(role)}
                >
                  {t('Change')}
                </Button>
                {role._id !== own && (
                  <DeleteButton what={t('role {name}', { name: role.name })} onDelete={() => remove(role)} />
                )}
              </div>
            ),
          },
        ]
      : []),
  ]
  const remove = async ({ _id }: Role) => {
    await call('DELETE', `/rest/roles/${_id}`)
    list.reload()
  }
  return (
    <>
      <Card
        title={t('Roles')}
        note={t('Open one to ask what it allows')}
        flush
        action={
          writable && (
            <Button kind="primary" onClick={() => setEditing('new')}>
              {t('New role')}
            </Button>
          )
        }
      >
        <Table
          {...{ label: t('Roles'), columns, rows: list.rows, error: list.error, keyOf: ({ _id }) => _id }}
          hrefOf={({ _id }) => hrefOf(`/team/roles/${_id}`)}
          empty={<Empty title={t('No roles')} />}
        />
        <More list={list} />
      </Card>
      {chosen && <Explain key={chosen._id} role={chosen} />}
      {editing && (
        <RoleDialog
          role={editing === 'new' ? undefined : editing}
          onClose={() => setEditing(undefined)}
          onDone={list.reload}
        />
      )}
    </>
  )
}

interface Explanation {
  result: string
  entries: {
    entry: number
    schema: { expression: unknown; reason: string; applies: boolean }
    read: { expression: unknown; reason: string; grants: string }
    write: { expression: unknown; reason: string; grants: string }
  }[]
}

/** Asks what a role comes to for a resource, or one document of it. */
function Explain({ role }: { role: Role }) {
  const [resource, setResource] = useState('messages')
  const [doc, setDoc] = useState('')
  const [asked, setAsked] = useState<object>({ resource: 'messages' })
  const [error, setError] = useState<Error>()
  const { data, error: refused } = useLoad(
    `explain ${role._id} ${role.version} ${JSON.stringify(asked)}`,
    () => call<Explanation>('POST', `/rest/roles/${role._id}/explain`, { body: asked }),
  )
  const ask = (event: Event) => {
    event.preventDefault()
    try {
      setError(undefined)
      setAsked({ resource, ...(doc.trim() === '' ? {} : { doc: JSON.parse(doc) }) })
    } catch {
      setError(new SyntaxError(t('The document is not JSON.')))
    }
  }
  return (
    <Card title={t('What {name} allows', { name: role.name })}>
      <form class="form" onSubmit={ask} data-passing>
        <SelectField
          label={t('Resource')}
          value={resource}
          onChange={(chosen) => {
            setResource(chosen)
            setAsked({ resource: chosen })
          }}
          options={RULED_RESOURCES.map((name) => ({ value: name, name }))}
        />
        <AreaField
          label={t('A document of it')}
          note={t('As JSON, to ask about one')}
          code
          rows={2}
          value={doc}
          onChange={setDoc}
          required={false}
        />
        <Button type="submit">{t('Explain')}</Button>
      </form>
      {error && <p class="field-error">{error.message}</p>}
      <Failure error={refused} />
      {data && (
        <>
          <p class="explained">{data.result}</p>
          <ul class="rows">
            {data.entries.map(({ entry, schema, read, write }) => (
              <li key={entry} class={schema.applies ? '' : 'faint'}>
                <div class="grow">
                  <p class="line">
                    {rich('Entry {entry}: {expression}', {
                      entry,
                      expression: <code>{String(schema.expression)}</code>,
                    })}
                    <Badge tone={schema.applies ? 'info' : 'neutral'}>
                      {schema.applies ? t('applies') : t('does not apply')}
                    </Badge>
                  </p>
                  {schema.applies ? (
                    <p class="note">
                      {rich('read {grants} ({expression}), write {grants2} ({expression2})', {
                        grants: wordOf(read.grants),
                        expression: <code>{String(read.expression)}</code>,
                        grants2: wordOf(write.grants),
                        expression2: <code>{String(write.expression)}</code>,
                      })}
                    </p>
                  ) : (
                    <p class="note">{schema.reason}</p>
                  )}
                </div>
              </li>
            ))}
          </ul>
        </>
      )}
    </Card>
  )
}

interface RoleDialogProps {
  role: Role | undefined
  onClose(): void
  onDone(): void
}

function RoleDialog({ role, onClose, onDone }: RoleDialogProps) {
  const [name, setName] = useState(role?.name ?? '')
  const [begun] = useState(() => {
    const entries: readonly Entry[] = role?.permissions ?? []
    return { entries, rights: rightsOf(entries) }
  })
  const [rights, setRights] = useState<RoleRights>(begun.rights)
  const entries = rights === begun.rights ? begun.entries : entriesOf(rights)
  // What is typed stays as it is typed: other boxes and other expressions may grant the same.
  const [text, setText] = useState<string>()
  const [syntax, setSyntax] = useState<string>()
  const type = (typed: string) => {
    setText(typed)
    try {
      setRights(rightsOf(parseEntries(typed)))
      setSyntax(undefined)
    } catch (thrown) {
      setSyntax((thrown as Error).message)
    }
  }
  const { busy, error, submit } = useSubmit(async () => {
    if (syntax !== undefined) throw new InputError(syntax, [])
    const permissions = text === undefined ? entries : parseEntries(text)
    const [method, path] = role ? ['PUT', `/rest/roles/${role._id}`] : ['POST', '/rest/roles']
    await call(method as string, path as string, { body: { name, permissions } })
    notify(t('Saved. It is in effect in two seconds.'))
    onDone()
    onClose()
  })
  return (
    <Dialog title={role ? t('Change {name}', { name: role.name }) : t('New role')} onClose={onClose} wide>
      <form onSubmit={submit}>
        <TextField label={t('Name')} value={name} onChange={setName} required />
        <RoleGrid
          role={rights}
          onChange={(changed) => {
            setText(undefined)
            setSyntax(undefined)
            setRights(changed)
          }}
        />
        {rights.others.length > 0 && (
          <p class="note">
            {t(
              '{count, plural, one {# entry says more than boxes can; it stays as it is.} other {# entries say more than boxes can; they stay as they are.}}',
              { count: rights.others.length },
            )}
          </p>
        )}
        <details class="more">
          <summary>{t('As expressions')}</summary>
          <AreaField
            label={t('Entries')}
            note={t('Each grants read and write where its schema is true. They are added up.')}
            {...{ code: true, rows: 14, error: syntax }}
            value={text ?? JSON.stringify(entries, null, 2)}
            onChange={type}
          />
        </details>
        <Failure error={error} />
        <div class="actions end">
          <Button type="submit" kind="primary" disabled={busy}>
            {t('Save')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** Throws what is wrong with entries as they are typed. */
function parseEntries(text: string): Entry[] {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch (cause) {
    throw new InputError(
      t('{label} is not JSON: {message}', { label: t('Entries'), message: (cause as Error).message }),
      [],
    )
  }
  const isEntry = (one: unknown) => typeof one === 'object' && one !== null && !Array.isArray(one)
  if (!Array.isArray(read) || !read.every(isEntry))
    throw new InputError(t('Entries are a list of objects.'), [])
  return read
}
