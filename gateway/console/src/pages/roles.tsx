import { RULED_RESOURCES } from '@parley/shared/configuration-resources'
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button, DeleteButton } from '../components/actions.tsx'
import { Badge, Card, Empty, Failure, Time } from '../components/basics.tsx'
import { SelectField } from '../components/fields.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { problemOfJson } from '../json/json-check.ts'
import { JsonField } from '../json/json-field.tsx'
import { rich, t } from '../language.ts'
import { useLoad } from '../load.ts'
import { type Role, roleInWords } from '../people.ts'
import { may, me } from '../rights.ts'
import { hrefOf } from '../router.ts'
import { resourceInWords, wordOf } from '../words.ts'
import { RoleDialog } from './role-dialog.tsx'

/** The roles, and for each what it comes to. */
export function Roles({ id }: { id: string | undefined }) {
  const list = useList<Role>('/rest/roles')
  const [editing, setEditing] = useState<Role | 'new'>()
  const writable = may('write', 'roles')
  const chosen = list.rows?.find((role) => String(role._id) === id)
  const own = me.get()?.role._id
  const columns: Column<Role>[] = [
    {
      name: t('Name'),
      cell: ({ name, _id }) => {
        const words = roleInWords(name)
        return _id === own ? t('{name} (yours)', { name: words }) : words
      },
    },
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
                  label={t('Change {name}', { name: roleInWords(role.name) })}
                  onClick={() => setEditing(role)}
                >
                  {t('Change')}
                </Button>
                {role._id !== own && (
                  <DeleteButton
                    what={t('role {name}', { name: roleInWords(role.name) })}
                    onDelete={() => remove(role)}
                  />
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
  references: string[]
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
  const { data, error } = useLoad(`explain ${role._id} ${role.version} ${JSON.stringify(asked)}`, () =>
    call<Explanation>('POST', `/rest/roles/${role._id}/explain`, { body: asked }),
  )
  const ask = (event: Event) => {
    event.preventDefault()
    if (doc.trim() === '') setAsked({ resource })
    else if (problemOfJson(doc) === undefined) setAsked({ resource, doc: JSON.parse(doc) })
  }
  return (
    <Card title={t('What {name} allows', { name: roleInWords(role.name) })}>
      <form class="form" onSubmit={ask} data-passing>
        <SelectField
          label={t('Resource')}
          value={resource}
          onChange={(chosen) => {
            setResource(chosen)
            setAsked({ resource: chosen })
          }}
          options={RULED_RESOURCES.map((value) => ({ value, name: resourceInWords(value) }))}
        />
        <JsonField
          label={t('A document of it')}
          note={t('As JSON, to ask about one')}
          rows={2}
          value={doc}
          onChange={setDoc}
          required={false}
        />
        <Button type="submit">{t('Explain')}</Button>
      </form>
      <Failure error={error} />
      {data && (
        <>
          <p class="explained">{data.result}</p>
          {data.references.length > 0 && (
            <>
              <p class="note">{t('Because documents name others, its rights together give it more:')}</p>
              <ul>
                {data.references.map((one) => (
                  <li key={one}>
                    {one.split('`').map((part, at) => (at % 2 === 0 ? part : <code key={at}>{part}</code>))}
                  </li>
                ))}
              </ul>
            </>
          )}
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
