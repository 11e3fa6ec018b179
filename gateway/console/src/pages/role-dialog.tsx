import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Dialog, FormEnd, notify } from '../components/actions.tsx'
import { TextField } from '../components/fields.tsx'
import { useSubmit } from '../components/submit.ts'
import { JsonField } from '../json/json-field.tsx'
import { syntaxProblem } from '../json/json-syntax.ts'
import { t } from '../language.ts'
import { type Role, roleInWords } from '../people.ts'
import { InputError } from '../problems.ts'
import { type Entry, entriesOf, type RoleRights, rightsOf } from '../role-rights.ts'
import { RoleGrid } from './role-grid.tsx'

interface RoleDialogProps {
  role: Role | undefined
  onClose(): void
  onDone(): void
}

/** Makes a role, or changes one: by check boxes, or by its expressions. */
export function RoleDialog({ role, onClose, onDone }: RoleDialogProps) {
  const [name, setName] = useState(role?.name ?? '')
  const [begun] = useState(() => {
    const entries: readonly Entry[] = role?.permissions ?? []
    return { entries, rights: rightsOf(entries) }
  })
  const [rights, setRights] = useState<RoleRights>(begun.rights)
  const entries = rights === begun.rights ? begun.entries : entriesOf(rights)
  // The typed text stays as it is typed: other boxes and other expressions may grant the same.
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
    <Dialog
      title={role ? t('Change {name}', { name: roleInWords(role.name) }) : t('New role')}
      onClose={onClose}
      wide
    >
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
        <details class="fold">
          <summary>{t('As expressions')}</summary>
          <JsonField
            label={t('Entries')}
            note={t('Each grants read and write where its schema is true. They are added up.')}
            {...{ isList: true, rows: 14, error: syntax }}
            value={text ?? JSON.stringify(entries, null, 2)}
            onChange={type}
          />
        </details>
        <FormEnd action={t('Save')} busy={busy} error={error} />
      </form>
    </Dialog>
  )
}

/** Throws what is wrong with entries as they are typed. */
function parseEntries(text: string): Entry[] {
  const syntax = syntaxProblem(text)
  if (syntax !== undefined) throw new InputError(syntax, [])
  const read: unknown = JSON.parse(text)
  const isEntry = (one: unknown) => typeof one === 'object' && one !== null && !Array.isArray(one)
  if (!Array.isArray(read) || !read.every(isEntry))
    throw new InputError(t('Entries are a list of objects.'), [])
  return read
}
