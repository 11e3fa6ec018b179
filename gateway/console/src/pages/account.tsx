import { LANGUAGES } from '@parley/shared/languages'
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button, FormEnd, notify } from '../components/actions.tsx'
import { Badge, Card, Fact, Failure, Loading, PageHead, Time } from '../components/basics.tsx'
import { PasswordField, SelectField, TextField } from '../components/fields.tsx'
import { byPath } from '../components/screens.tsx'
import { useSubmit } from '../components/submit.ts'
import { followLanguage, rich, t } from '../language.ts'
import { useLoad } from '../load.ts'
import { allowNotices, changeNotices, desktopNotices, noticeChanges, readNoticeSettings } from '../notices.ts'
import { roleInWords } from '../people.ts'
import { messageOf } from '../problems.ts'
import { type Me, may, me } from '../rights.ts'
import { useStore } from '../store.ts'

/** The page on which a user sees and changes their own name, password, sessions and notices. */
export const AccountPage = byPath('/account', { '': Account })

function Account() {
  const caller = useStore(me)
  if (caller === undefined) return null
  return (
    <>
      <PageHead title={t('My account')} note={caller.username} />
      <div class="columns">
        <Own caller={caller} />
        <Password />
      </div>
      <LanguageCard caller={caller} />
      <Sessions />
      {may('read', 'threads') && <NoticesCard />}
    </>
  )
}

function Own({ caller }: { caller: Me }) {
  const [name, setName] = useState(caller.name)
  const { busy, error, submit } = useSubmit(async () => {
    await call('PATCH', '/api/auth/me', { body: { name } })
    me.set({ ...caller, name })
    notify(t('Saved.'))
  })
  return (
    <Card title={t('Who I am')}>
      <form onSubmit={submit}>
        <TextField label={t('Name')} value={name} onChange={setName} autocomplete="name" required />
        <dl class="facts">
          <Fact term={t('Role')}>{roleInWords(caller.role.name)}</Fact>
          <Fact term={t('Workspace')}>{caller.workspace.name}</Fact>
        </dl>
        <FormEnd action={t('Save')} busy={busy} error={error} />
      </form>
    </Card>
  )
}

/** Of the account, in each of its browsers. */
function LanguageCard({ caller }: { caller: Me }) {
  const choose = async (choice: string) => {
    const language = LANGUAGES.find(({ tag }) => tag === choice)?.tag ?? null
    try {
      await call('PATCH', '/api/auth/me', { body: { preferences: { language } } })
      me.set({ ...caller, preferences: { ...caller.preferences, language } })
      followLanguage(language)
    } catch (error) {
      notify(messageOf(error as Error), 'bad')
    }
  }
  return (
    <Card title={t('Language')} note={t('In all your browsers')}>
      <SelectField
        label={t('Language of the console')}
        note={t('The page is loaded again')}
        value={caller.preferences.language ?? ''}
        options={[
          { value: '', name: t('As the browser says') },
          ...LANGUAGES.map(({ tag, name }) => ({ value: tag, name })),
        ]}
        onChange={choose}
      />
    </Card>
  )
}

const LEAST = 8
const NOTHING = { current: '', next: '' }

function Password() {
  const [typed, setTyped] = useState(NOTHING)
  const [tokensEnd, setTokensEnd] = useState(false)
  const set = (field: keyof typeof NOTHING) => (value: string) =>
    setTyped((before) => ({ ...before, [field]: value }))
  const { busy, error, submit } = useSubmit(async () => {
    const body = {
      ...{ currentPassword: typed.current, newPassword: typed.next },
      keepApiTokens: !tokensEnd,
    }
    await call('POST', '/api/auth/password', { body })
    setTyped(NOTHING)
    notify(t('The password is changed, and every other session has ended.'))
  })
  return (
    <Card title={t('Password')} note={t('A new one ends every other session')}>
      <form onSubmit={submit}>
        <PasswordField
          label={t('Current password')}
          value={typed.current}
          onChange={set('current')}
          autocomplete="current-password"
          required
        />
        <PasswordField
          {...{
            label: t('New password'),
            note: t('At least {count} characters', { count: LEAST }),
            least: LEAST,
            required: true,
          }}
          value={typed.next}
          onChange={set('next')}
          autocomplete="new-password"
        />
        <div class="field choices">
          <label>
            <input
              type="checkbox"
              checked={tokensEnd}
              onChange={(event) => setTokensEnd(event.currentTarget.checked)}
            />
            {t('End my API tokens and the invitations that I made, too')}
          </label>
        </div>
        <FormEnd action={t('Change the password')} busy={busy} error={error} />
      </form>
    </Card>
  )
}

interface OwnSession {
  _id: string
  createdAt: string
  usedAt: string
  userAgent: string | null
  isCurrent: boolean
}

function Sessions() {
  const { data, error, reload } = useLoad(
    'own sessions',
    (signal) => call<{ data: OwnSession[] }>('GET', '/api/auth/sessions', { signal }),
    { everyMs: 15_000 },
  )
  const end = async (session?: string) => {
    await call('POST', '/api/auth/sessions/end', { body: session === undefined ? {} : { session } })
    notify(session === undefined ? t('All other sessions have ended.') : t('The session has ended.'))
    reload()
  }
  const sessions = data?.data.toSorted((one, other) => Number(other.isCurrent) - Number(one.isCurrent))
  return (
    <Card
      title={t('Sessions')}
      note={t('Where I am logged in')}
      action={(sessions?.length ?? 0) > 1 && <Button onClick={() => end()}>{t('End all others')}</Button>}
    >
      {sessions === undefined && (error ? <Failure error={error} /> : <Loading />)}
      <ul class="rows">
        {sessions?.map(({ _id, createdAt, usedAt, userAgent, isCurrent }) => (
          <li key={_id}>
            <div class="grow">
              <p class="line">
                <strong title={userAgent ?? undefined}>{programOf(userAgent)}</strong>
                {isCurrent && <Badge tone="good">{t('this one')}</Badge>}
              </p>
              <p class="note">
                {rich('Logged in {time}, last used {used}', {
                  time: <Time at={createdAt} relative />,
                  used: <Time at={usedAt} relative />,
                })}
              </p>
            </div>
            {!isCurrent && (
              <Button
                small
                label={t('End the session of {program}', { program: programOf(userAgent) })}
                onClick={() => end(_id)}
              >
                {t('End')}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Card>
  )
}

// Each claims to be those behind it, too.
const PROGRAMS: [string, string][] = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ...['Firefox', 'Chrome', 'Safari', 'curl'].map((name): [string, string] => [name, name]),
]
const SYSTEMS = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS', 'Linux']

/** A browser and its system, as far as its name for itself says so. */
function programOf(userAgent: string | null): string {
  if (userAgent === null) return t('Unknown')
  const [, program] = PROGRAMS.find(([mark]) => userAgent.includes(mark)) ?? ['', t('A program')]
  const system = SYSTEMS.find((name) => userAgent.includes(name))
  return system === undefined ? program : t('{program} on {system}', { program, system })
}

/** Of the account, in each of its browsers; each browser has to allow those on the desktop. */
function NoticesCard() {
  useStore(noticeChanges)
  const settings = readNoticeSettings()
  const desktop = desktopNotices()
  const refused = t('The browser does not allow notices of this page: allow them in its settings.')
  const isOn = settings.sound || settings.desktop
  const set = async (change: Parameters<typeof changeNotices>[0]) => {
    try {
      if (!(await changeNotices(change))) notify(refused, 'bad')
    } catch (error) {
      notify(messageOf(error as Error), 'bad')
    }
  }
  const allow = async () => {
    if (!(await allowNotices())) notify(refused, 'bad')
  }
  const choices = (all: readonly { key: keyof typeof settings; name: string; isThere: boolean }[]) =>
    all.map(({ key, name, isThere }) => (
      <label key={key}>
        <input
          type="checkbox"
          checked={settings[key]}
          disabled={!isThere}
          onChange={(event) => {
            const { checked } = event.currentTarget
            event.currentTarget.checked = settings[key]
            void set({ [key]: checked })
          }}
        />
        {name}
      </label>
    ))
  return (
    <Card title={t('Notices')} note={t('In all my browsers')}>
      <div class="field choices">
        {choices([
          { key: 'sound', name: t('A sound'), isThere: true },
          { key: 'desktop', name: t('On the desktop'), isThere: desktop !== 'missing' },
        ])}
      </div>
      {settings.desktop && desktop === 'blocked' && (
        <p class="line">
          <span class="note">{t('This browser shows none on the desktop until you allow it.')}</span>
          <Button small onClick={allow}>
            {t('Allow it')}
          </Button>
        </p>
      )}
      <fieldset class="field choices">
        <legend>{t('Of what')}</legend>
        {choices([
          { key: 'messages', name: t('What people write to the team'), isThere: isOn },
          { key: 'handOvers', name: t('What an assistant hands over'), isThere: isOn },
          { key: 'assignments', name: t('What is assigned to me or a team of mine'), isThere: isOn },
          { key: 'onlyOwn', name: t('Nothing of what is assigned to others'), isThere: isOn },
        ])}
      </fieldset>
      <p class="note">
        {t(
          'None comes while you look at the conversation. A tab of the console has to be open, which may be in the background.',
        )}
      </p>
    </Card>
  )
}
