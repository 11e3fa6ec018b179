import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button, DeleteButton, Dialog, FormEnd, Paste } from '../components/actions.tsx'
import { Card, Empty, Time } from '../components/basics.tsx'
import { SelectField, TextField } from '../components/fields.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { useSubmit } from '../components/submit.ts'
import { numbered } from '../format.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { names, optionsOf } from '../people.ts'
import { may } from '../rights.ts'

interface ApiToken {
  _id: number
  name: string
  role: number
  account: number
  expiresAt: string | null
  lastUsedAt: string | null
}

/** The API tokens; a new one is shown once. */
export function ApiTokens() {
  const list = useList<ApiToken>('/api/auth/tokens')
  const known = useLoad('names', names)
  const [making, setMaking] = useState(false)
  const writable = may('write', 'tokens')
  const columns: Column<ApiToken>[] = [
    { name: t('Name'), cell: ({ name }) => name },
    { name: t('Role'), wide: true, cell: ({ role }) => known.data?.roles.get(role) ?? numbered(role) },
    {
      name: t('Made by'),
      wide: true,
      cell: ({ account }) => known.data?.users.get(account) ?? numbered(account),
    },
    { name: t('Ends'), cell: ({ expiresAt }) => <Time at={expiresAt} relative /> },
    { name: t('Last used'), wide: true, cell: ({ lastUsedAt }) => <Time at={lastUsedAt} relative /> },
    ...(writable
      ? [
          {
            name: t('Actions'),
            cell: ({ _id, name }: ApiToken) => (
              <DeleteButton
                what={t('token {name}', { name })}
                onDelete={async () => {
                  await call('DELETE', `/api/auth/tokens/${_id}`)
                  list.reload()
                }}
              />
            ),
          },
        ]
      : []),
  ]
  return (
    <Card
      title={t('API tokens')}
      flush
      action={
        writable && (
          <Button kind="primary" onClick={() => setMaking(true)}>
            {t('New token')}
          </Button>
        )
      }
    >
      <Table
        {...{ label: t('API tokens'), columns, rows: list.rows, error: list.error, keyOf: ({ _id }) => _id }}
        empty={
          <Empty title={t('No API tokens yet')}>
            {t('A token lets a program call the API without a login.')}
          </Empty>
        }
      />
      <More list={list} />
      {making && (
        <TokenDialog
          roles={known.data?.roles ?? new Map()}
          onClose={() => setMaking(false)}
          onDone={list.reload}
        />
      )}
    </Card>
  )
}

interface TokenDialogProps {
  roles: ReadonlyMap<number, string>
  onClose(): void
  onDone(): void
}

const LIFETIMES = [
  { value: '30', name: t('30 days') },
  { value: '90', name: t('90 days') },
  { value: '365', name: t('A year') },
  { value: '', name: t('Until it is deleted') },
]

function TokenDialog({ roles, onClose, onDone }: TokenDialogProps) {
  const options = optionsOf(roles)
  const [name, setName] = useState('')
  const [role, setRole] = useState(options.at(-1)?.value ?? '')
  const [days, setDays] = useState('90')
  const [password, setPassword] = useState('')
  const [token, setToken] = useState<string>()
  const { busy, error, submit } = useSubmit(async () => {
    const body = {
      ...{ name, role: Number(role), currentPassword: password },
      expiresInDays: days === '' ? null : Number(days),
    }
    setToken((await call<{ token: string }>('POST', '/api/auth/tokens', { body })).token)
    onDone()
  })
  return (
    <Dialog title={t('New API token')} onClose={onClose}>
      {token ? (
        <>
          <p>{t('Store it now: it is not shown again.')}</p>
          <Paste value={token} label={t('the token')} />
        </>
      ) : (
        <form onSubmit={submit}>
          <TextField label={t('Name')} note={t('What uses it')} value={name} onChange={setName} required />
          <SelectField label={t('Role')} value={role} onChange={setRole} options={options} />
          <SelectField label={t('Ends after')} value={days} onChange={setDays} options={LIFETIMES} />
          <TextField
            {...{
              label: t('Your password'),
              type: 'password',
              autocomplete: 'current-password',
              required: true,
            }}
            value={password}
            onChange={setPassword}
          />
          <FormEnd action={t('Make the token')} busy={busy} error={error} />
        </form>
      )}
    </Dialog>
  )
}
