import { PasswordField, SelectField, TextField } from '../components/fields.tsx'
import { t } from '../language.ts'
import type { SignIn } from '../setup/setup-form.ts'

const KINDS = [
  { value: 'none', name: t('Nothing') },
  { value: 'apiKey', name: t('An API key') },
  { value: 'token', name: t('A token') },
  { value: 'basic', name: t('A name and a password') },
  { value: 'consent', name: t('Somebody’s consent (OAuth)') },
]
const STORED = { value: 'stored', name: t('What is stored') }

const EMPTY: Record<string, SignIn> = {
  none: { kind: 'none' },
  stored: { kind: 'stored' },
  consent: { kind: 'consent' },
  apiKey: { kind: 'apiKey', apiKey: '' },
  token: { kind: 'token', token: '' },
  basic: { kind: 'basic', username: '', password: '' },
}

/** How a tool's server knows who asks. */
export function SignInFields(props: {
  signIn: SignIn
  number: number
  /** Something is stored, which may stay. */
  hasCredentials: boolean
  onChange(signIn: SignIn): void
}) {
  const { signIn, number, hasCredentials, onChange } = props
  return (
    <>
      <SelectField
        label={t('Tool {number} asks for', { number })}
        value={signIn.kind}
        options={hasCredentials ? [STORED, ...KINDS] : KINDS}
        onChange={(kind) => onChange(EMPTY[kind] ?? { kind: 'none' })}
      />
      {signIn.kind === 'apiKey' && (
        <PasswordField
          label={t('API key')}
          value={signIn.apiKey}
          onChange={(apiKey) => onChange({ ...signIn, apiKey })}
          autocomplete="new-password"
          required
        />
      )}
      {signIn.kind === 'token' && (
        <PasswordField
          label={t('Token')}
          value={signIn.token}
          onChange={(token) => onChange({ ...signIn, token })}
          autocomplete="new-password"
          required
        />
      )}
      {signIn.kind === 'basic' && (
        <>
          <TextField
            label={t('Name to sign in with')}
            value={signIn.username}
            onChange={(username) => onChange({ ...signIn, username })}
            required
          />
          <PasswordField
            label={t('Password')}
            value={signIn.password}
            onChange={(password) => onChange({ ...signIn, password })}
            autocomplete="new-password"
            required
          />
        </>
      )}
    </>
  )
}
