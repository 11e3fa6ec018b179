import { Card } from '../components/basics.tsx'
import { AreaField, TextField } from '../components/fields.tsx'
import { t } from '../language.ts'
import { may } from '../rights.ts'
import type { SetupForm } from '../setup/setup-form.ts'
import { OtherUsersNote } from './other-users.tsx'

type Character = Pick<SetupForm, 'name' | 'description' | 'backstory' | 'role' | 'goal'>

interface Props {
  form: Character
  onChange(part: Partial<Character>): void
  isWritable: boolean
  isNew: boolean
  /** There is a job, which can't be read. */
  isJobUnread: boolean
  /** The names of the other assistants that have the same job. */
  users: readonly string[]
}

/** The name and character of the assistant, and its job. */
export function AssistantCharacter({ form, onChange, isWritable, isNew, isJobUnread, users }: Props) {
  const isJobWritable = isWritable && may('write', 'jobs') && !isJobUnread
  return (
    <Card title={t('Who it is')}>
      <fieldset class="bare" disabled={!isWritable}>
        <TextField
          label={t('Name')}
          value={form.name}
          onChange={(name) => onChange({ name })}
          required
          isFirst={isNew}
        />
        <AreaField
          label={t('Who it is and how it speaks')}
          value={form.backstory}
          onChange={(backstory) => onChange({ backstory })}
          rows={3}
          required={false}
        />
      </fieldset>
      <details class="fold">
        <summary>{t('Description, role and goal')}</summary>
        <fieldset class="bare" disabled={!isWritable}>
          <TextField
            label={t('Description')}
            value={form.description}
            onChange={(description) => onChange({ description })}
            required={false}
          />
        </fieldset>
        <OtherUsersNote names={users} />
        {isJobUnread && (
          <p class="note">{t('Its job can’t be read: it is gone, or your role may not read it.')}</p>
        )}
        <fieldset class="bare" disabled={!isJobWritable}>
          <TextField
            label={t('Role')}
            value={form.role}
            onChange={(role) => onChange({ role })}
            required={false}
          />
          <AreaField
            label={t('Goal')}
            value={form.goal}
            onChange={(goal) => onChange({ goal })}
            rows={2}
            required={false}
          />
        </fieldset>
      </details>
    </Card>
  )
}
