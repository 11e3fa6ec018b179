import { ParleyError } from '@parley/client/parley-error'
import { useEffect, useRef, useState } from 'preact/hooks'
import { call, logIn } from '../api.ts'
import { Button, notify } from '../components/actions.tsx'
import { Failure, Icon } from '../components/basics.tsx'
import { PasswordField, TextField } from '../components/fields.tsx'
import { useSubmit } from '../components/submit.ts'
import { t } from '../language.ts'
import { InputError } from '../problems.ts'
import { hrefOf, navigate, usePlace } from '../router.ts'
import { ENTRANCES } from '../routes.ts'
import { setTitle } from '../title.ts'

type Mode = 'login' | 'register' | 'invitation' | 'forgot' | 'reset'

const TITLES: Record<Mode, string> = {
  login: t('Log in'),
  register: t('Create a workspace'),
  invitation: t('Accept the invitation'),
  forgot: t('Forgot your password?'),
  reset: t('Set a new password'),
}

/** The ways in whose secret is behind the `#`. */
const BY_TOKEN: Partial<Record<string, Mode>> = { '/invitation': 'invitation', '/new-password': 'reset' }
const BY_PATH: Partial<Record<string, Mode>> = { '/register': 'register', '/forgot-password': 'forgot' }

interface Input {
  name: string
  email: string
  phone: string
  password: string
  namespace: string
}

const NOTHING: Input = { name: '', email: '', phone: '', password: '', namespace: '' }
const LEAST_PASSWORD = 8

const emailInAddress = (): string => {
  const behind = decodeURIComponent(location.hash.slice(1))
  return behind.includes('@') ? behind : ''
}

/**
 * Logs in (whose email is behind the `#` of `/console/login` has it filled in), registers a workspace at
 * `/console/register`, or accepts the invitation whose token is behind the `#` of `/console/invitation`. Who has forgotten
 * their password asks for a link at `/console/forgot-password`, which leads to
 * `/console/new-password`. Where the session has ended by itself it lies over the page, which is as it was afterwards.
 */
export function LoginPage({ hasEnded }: { hasEnded: boolean }) {
  const { path } = usePlace()
  const [token] = useState(() => (path in BY_TOKEN ? location.hash.slice(1) : ''))
  const [input, setInput] = useState<Input>({ ...NOTHING, email: path === '/login' ? emailInAddress() : '' })
  const mode = modeOf({ path, token, hasEnded })
  const title = TITLES[mode]
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    if (!hasEnded) setTitle(title)
  }, [title, hasEnded])
  useEffect(() => dialog.current?.showModal(), [])
  const set = (field: keyof Input) => (value: string) => setInput((before) => ({ ...before, [field]: value }))
  const [asked, setAsked] = useState<{ byMail: boolean }>()
  useEffect(() => setAsked(undefined), [mode])
  const { busy, error, submit } = useSubmit(async () => {
    if (mode === 'forgot') {
      const body = { email: input.email }
      return setAsked(await call<{ byMail: boolean }>('POST', '/api/auth/forgot-password', { body }))
    }
    await enter(mode, input, token)
    if (ENTRANCES.some((one) => one === path)) navigate('/', { replace: true })
  })
  const box = (
    <div class="login-box">
      <p class="logo">
        <Icon name="logo" /> {t('Parley')}
      </p>
      <h1>{title}</h1>
      {hasEnded && (
        <p class="note" role="status">
          {t('Your session has ended. Log in again, and what you typed is still there.')}
        </p>
      )}
      {mode === 'forgot' && asked !== undefined ? (
        <p class="note" role="status">
          {asked.byMail
            ? t('If there is such an account, a link is on its way by mail.')
            : t('No mail is sent here: ask an administrator for a link.')}
        </p>
      ) : (
        <form onSubmit={submit} data-passing>
          <Fields key={mode} mode={mode} input={input} set={set} />
          <Failure error={error} />
          <Button type="submit" kind="primary" disabled={busy}>
            {mode === 'forgot' ? t('Ask for a link') : title}
          </Button>
        </form>
      )}
      {!hasEnded && <Alternatives mode={mode} />}
    </div>
  )
  if (!hasEnded)
    return (
      <main class="login" id="main">
        {box}
      </main>
    )
  return (
    <dialog
      ref={dialog}
      class="login over-all"
      aria-label={title}
      onCancel={(event) => event.preventDefault()}
    >
      {box}
    </dialog>
  )
}

function modeOf({ path, token, hasEnded }: { path: string; token: string; hasEnded: boolean }): Mode {
  if (hasEnded) return 'login'
  return (token === '' ? undefined : BY_TOKEN[path]) ?? BY_PATH[path] ?? 'login'
}

/** The other ways in that a user may have come for. */
function Alternatives({ mode }: { mode: Mode }) {
  if (mode === 'invitation') return null
  const isLogin = mode === 'login'
  return (
    <>
      {isLogin && (
        <p class="login-switch">
          <a href={hrefOf('/forgot-password')}>{TITLES.forgot}</a>
        </p>
      )}
      <p class="login-switch">
        {isLogin ? `${t('New here?')} ` : `${t('You have an account?')} `}
        <a href={hrefOf(isLogin ? '/register' : '/login')}>{isLogin ? TITLES.register : TITLES.login}</a>
      </p>
    </>
  )
}

const NAMED: ReadonlySet<Mode> = new Set(['register', 'invitation'])
const WITH_EMAIL: ReadonlySet<Mode> = new Set(['login', 'register', 'forgot'])

interface FieldsProps {
  mode: Mode
  input: Input
  set(field: keyof Input): (value: string) => void
}

/** The fields of each way in; the first that is empty has the focus. */
function Fields({ mode, input, set }: FieldsProps) {
  const isLogin = mode === 'login'
  const text = (field: keyof Input) => ({ value: input[field], onChange: set(field), required: true })
  return (
    <>
      {NAMED.has(mode) && <TextField {...text('name')} label={t('Your name')} autocomplete="name" isFirst />}
      {WITH_EMAIL.has(mode) && (
        <TextField
          {...text('email')}
          label={t('Email')}
          type="email"
          autocomplete="username"
          isFirst={!NAMED.has(mode) && input.email === ''}
        />
      )}
      {mode === 'register' && (
        <>
          <TextField
            {...text('phone')}
            label={t('Phone')}
            type="tel"
            autocomplete="tel"
            note={t('With the country’s code, such as +351 912 345 678')}
          />
          <TextField
            {...text('namespace')}
            label={t('Workspace')}
            note={t('A short name, such as your company’s')}
          />
        </>
      )}
      {mode !== 'forgot' && (
        <PasswordField
          {...text('password')}
          label={mode === 'reset' ? t('New password') : t('Password')}
          autocomplete={isLogin ? 'current-password' : 'new-password'}
          isFirst={mode === 'reset' || (isLogin && input.email !== '')}
          {...(!isLogin && {
            least: LEAST_PASSWORD,
            note: t('At least {count} characters', { count: LEAST_PASSWORD }),
          })}
        />
      )}
    </>
  )
}

const PHONE = /^\+(?:[\s().-]*\d){8,15}$/
const WORKSPACE = /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N} -]*[\p{L}\p{M}\p{N}])?$/u

/** Throws an InputError for what the API would take, and nobody means. */
function requireSound({ phone, namespace }: Input): void {
  const fields = [
    ...(PHONE.test(phone.trim())
      ? []
      : [
          {
            path: '/phone',
            message: t('is no phone number with its country’s code, such as +351 912 345 678'),
          },
        ]),
    ...(WORKSPACE.test(namespace.trim())
      ? []
      : [{ path: '/workspace', message: t('has letters, digits, spaces and hyphens only') }]),
  ]
  if (fields.length > 0) throw new InputError(t('Something is not right yet.'), fields)
}

async function enter(mode: Mode, input: Input, token: string): Promise<void> {
  const { name, email, phone, password, namespace } = input
  let username = email
  if (mode === 'register') {
    requireSound(input)
    const body = { name, email, phone: phone.trim(), password, namespace: namespace.trim() }
    const made = await call<{ workspace: { namespace: string; host: string } }>(
      'POST',
      '/api/auth/register',
      {
        body,
      },
    )
    await logIn({ username, password })
    if (/-\d+$/.test(made.workspace.namespace) && !/\d$/.test(namespace.trim()))
      notify(
        t('The name {namespace} was taken: your workspace is {given}.', {
          namespace: namespace.trim(),
          given: made.workspace.namespace,
        }),
      )
    return
  }
  if (mode === 'invitation') {
    const body = { token, name, password }
    username = (await call<{ username: string }>('POST', '/api/auth/accept-invitation', { body })).username
  }
  if (mode === 'reset') {
    const body = { token, password }
    username = (await call<{ username: string }>('POST', '/api/auth/reset-password', { body })).username
  }
  await logIn({ username, password }).catch(inWordsOfTheForm)
}

/** The API calls it a user name, which no field here is called. */
function inWordsOfTheForm(error: unknown): never {
  if (error instanceof ParleyError && error.problem?.code === 'invalid_credentials')
    throw new InputError(t('The email or the password is wrong.'), [])
  throw error
}
