import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button, DeleteButton, Dialog, FormEnd, LinkButton, notify, Paste } from '../components/actions.tsx'
import { Card, Empty, Time } from '../components/basics.tsx'
import { SelectField, TextField } from '../components/fields.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { useSubmit } from '../components/submit.ts'
import { numbered } from '../format.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { names, optionsOf, roleInWords, type User } from '../people.ts'
import { may, me } from '../rights.ts'
import { hrefOf } from '../router.ts'

interface Invitation {
  _id: number
  email: string
  role: number
  expiresAt: string
}

/** The users of the workspace and who is invited, with what may be done to them. */
export function Users() {
  const users = useList<User>('/rest/users')
  const invitations = useList<Invitation>('/rest/invitations')
  const known = useLoad('names', names)
  const [inviting, setInviting] = useState(false)
  const [changing, setChanging] = useState<User>()
  const writable = may('write', 'users')
  const roles = known.data?.roles ?? new Map<number, string>()
  const nameOf = (role: number) => roleInWords(roles.get(role) ?? numbered(role))
  const own = me.get()?._id
  const columns: Column<User>[] = [
    { name: t('Name'), cell: ({ name, _id }) => (_id === own ? t('{name} (you)', { name }) : name) },
    { name: t('Email'), cell: ({ username }) => <span class="cut">{username}</span> },
    { name: t('Role'), wide: true, cell: ({ role }) => nameOf(role) },
    { name: t('Since'), wide: true, cell: ({ createdAt }) => <Time at={createdAt} relative /> },
    ...(writable
      ? [
          {
            name: t('Actions'),
            cell: (user: User) => (
              <div class="actions">
                <Button
                  small
                  label={t('Change {name}', { name: user.name })}
                  onClick={() => setChanging(user)}
                >
                  {t('Change')}
                </Button>
                {user._id !== own && (
                  <DeleteButton
                    what={t('user {name}', { name: user.name })}
                    onDelete={() => remove('users', user._id, users.reload)}
                  />
                )}
              </div>
            ),
          },
        ]
      : []),
  ]
  const pending: Column<Invitation>[] = [
    { name: t('Email'), cell: ({ email }) => <span class="cut">{email}</span> },
    { name: t('Role'), wide: true, cell: ({ role }) => nameOf(role) },
    { name: t('Ends'), cell: ({ expiresAt }) => <Time at={expiresAt} relative /> },
    ...(writable
      ? [
          {
            name: t('Actions'),
            cell: ({ _id, email }: Invitation) => (
              <DeleteButton
                what={t('the invitation of {email}', { email })}
                onDelete={() => remove('invitations', _id, invitations.reload)}
              />
            ),
          },
        ]
      : []),
  ]
  return (
    <>
      <Card
        title={t('Users')}
        flush
        action={
          writable && (
            <Button kind="primary" onClick={() => setInviting(true)}>
              {t('Invite somebody')}
            </Button>
          )
        }
      >
        <Table
          {...{ label: t('Users'), columns, rows: users.rows, error: users.error, keyOf: ({ _id }) => _id }}
          empty={<Empty title={t('No users')} />}
        />
        <More list={users} />
      </Card>
      <Card title={t('Invitations')} flush>
        <Table
          {...{ label: t('Invitations'), columns: pending, rows: invitations.rows, error: invitations.error }}
          keyOf={({ _id }) => _id}
          empty={<Empty title={t('Nobody is invited')} />}
        />
        <More list={invitations} />
      </Card>
      {inviting && (
        <InviteDialog roles={roles} onClose={() => setInviting(false)} onDone={invitations.reload} />
      )}
      {changing && (
        <UserDialog
          user={changing}
          roles={roles}
          onClose={() => setChanging(undefined)}
          onDone={users.reload}
        />
      )}
    </>
  )
}

async function remove(path: string, id: number, done: () => void): Promise<void> {
  await call('DELETE', `/rest/${path}/${id}`)
  done()
}

interface InviteProps {
  roles: ReadonlyMap<number, string>
  onClose(): void
  onDone(): void
}

function InviteDialog({ roles, onClose, onDone }: InviteProps) {
  const options = optionsOf(roles)
  const usual = [...roles].find(([, name]) => name === 'MEMBER')
  const [email, setEmail] = useState('')
  const [role, setRole] = useState(String(usual?.[0] ?? options.at(-1)?.value ?? ''))
  const [link, setLink] = useState<string>()
  const { busy, error, submit } = useSubmit(async () => {
    const body = { email, role: Number(role) }
    const { token } = await call<{ token: string }>('POST', '/rest/invitations', { body })
    setLink(`${location.origin}${hrefOf('/invitation')}#${token}`)
    onDone()
  })
  return (
    <Dialog title={t('Invite somebody')} onClose={onClose}>
      {link ? (
        <>
          <p>{t('Send {email} this address. It is shown once, and works for seven days.', { email })}</p>
          <Paste value={link} label={t('the invitation')} />
          <div class="actions end">
            <LinkButton href={mailOf(email, link)}>{t('Write the mail')}</LinkButton>
          </div>
        </>
      ) : (
        <form onSubmit={submit}>
          <TextField label={t('Email')} type="email" value={email} onChange={setEmail} required />
          <SelectField label={t('Role')} value={role} onChange={setRole} options={options} />
          <FormEnd action={t('Invite')} busy={busy} error={error} />
        </form>
      )}
    </Dialog>
  )
}

/** A mail of the viewer's own program, with the address in it. */
function mailOf(email: string, link: string): string {
  const { name = t('our workspace') } = me.get()?.workspace ?? {}
  const subject = t('Join {name} on Parley', { name })
  const body = `${t('You are invited to {name}. This address works for seven days:\n\n{link}', { name, link })}\n`
  return `mailto:${encodeURIComponent(email)}?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(body)}`
}

function UserDialog({ user, roles, onClose, onDone }: InviteProps & { user: User }) {
  const [name, setName] = useState(user.name)
  const [phone, setPhone] = useState(user.phone)
  const [role, setRole] = useState(String(user.role))
  const { busy, error, submit } = useSubmit(async () => {
    await call('PATCH', `/rest/users/${user._id}`, { body: { name, phone, role: Number(role) } })
    notify(t('Saved.'))
    onDone()
    onClose()
  })
  return (
    <Dialog title={t('Change {name}', { name: user.name })} onClose={onClose}>
      <form onSubmit={submit}>
        <TextField label={t('Name')} value={name} onChange={setName} required />
        <TextField label={t('Phone')} type="tel" value={phone} onChange={setPhone} />
        <SelectField label={t('Role')} value={role} onChange={setRole} options={optionsOf(roles)} />
        <FormEnd action={t('Save')} busy={busy} error={error} />
      </form>
      {user._id !== me.get()?._id && <PasswordLink user={user} />}
    </Dialog>
  )
}

/** A link for who has forgotten their password: whoever makes it hands it over. */
function PasswordLink({ user: { _id, name } }: { user: User }) {
  const [link, setLink] = useState<string>()
  const make = async () => {
    const { token } = await call<{ token: string }>('POST', `/rest/users/${_id}/password-link`)
    setLink(`${location.origin}${hrefOf('/new-password')}#${token}`)
  }
  if (link === undefined) return <Button onClick={make}>{t('Make a link for a new password')}</Button>
  return (
    <>
      <p>
        {t(
          'Hand this address to {name}, and to nobody else. It is shown once, and works once, for 24 hours.',
          {
            name,
          },
        )}
      </p>
      <Paste value={link} label={t('the link')} />
    </>
  )
}
