import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { useColleagues } from '../colleagues.ts'
import { Button, DeleteButton, Dialog, FormEnd, notify } from '../components/actions.tsx'
import { Card, Empty } from '../components/basics.tsx'
import { TextField } from '../components/fields.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { useSubmit } from '../components/submit.ts'
import { numbered } from '../format.ts'
import { t } from '../language.ts'
import { may } from '../rights.ts'
import { teamsChanged } from '../teams.ts'
import type { Team } from '../threads.ts'

/** The teams, and who is in them. */
export function Teams() {
  const list = useList<Team>('/rest/teams')
  const names = new Map(useColleagues().map(({ _id, name }) => [_id, name]))
  const [editing, setEditing] = useState<Team | 'new'>()
  const done = () => {
    list.reload()
    teamsChanged()
  }
  const remove = async ({ _id }: Team) => {
    await call('DELETE', `/rest/teams/${_id}`)
    done()
  }
  const columns: Column<Team>[] = [
    { name: t('Name'), cell: ({ name }) => name },
    {
      name: t('Members'),
      cell: ({ members }) => members.map((one) => names.get(one) ?? numbered(one)).join(', ') || '–',
    },
    ...(may('write', 'teams')
      ? [
          {
            name: t('Actions'),
            cell: (team: Team) => (
              <div class="actions">
                <Button
                  small
                  label={t('Change {name}', { name: team.name })}
                  onClick={() => setEditing(team)}
                >
                  {t('Change')}
                </Button>
                <DeleteButton what={t('team {name}', { name: team.name })} onDelete={() => remove(team)} />
              </div>
            ),
          },
        ]
      : []),
  ]
  return (
    <>
      <Card
        title={t('Teams')}
        flush
        action={
          may('write', 'teams') && (
            <Button kind="primary" onClick={() => setEditing('new')}>
              {t('New team')}
            </Button>
          )
        }
      >
        <Table
          {...{ label: t('Teams'), columns, rows: list.rows, error: list.error, keyOf: ({ _id }) => _id }}
          empty={<Empty title={t('No teams')} />}
        />
        <More list={list} />
      </Card>
      {editing && (
        <TeamDialog
          team={editing === 'new' ? undefined : editing}
          onClose={() => setEditing(undefined)}
          onDone={done}
        />
      )}
    </>
  )
}

interface TeamDialogProps {
  team: Team | undefined
  onClose(): void
  onDone(): void
}

/** Makes a team, or changes one. */
function TeamDialog({ team, onClose, onDone }: TeamDialogProps) {
  const [name, setName] = useState(team?.name ?? '')
  const [members, setMembers] = useState<readonly number[]>(team?.members ?? [])
  const colleagues = useColleagues()
  // Members who may no longer read conversations are not listed as colleagues, and can be taken out.
  const others = (team?.members ?? []).filter((one) => colleagues.every(({ _id }) => _id !== one))
  const choices = [...colleagues, ...others.map((_id) => ({ _id, name: numbered(_id) }))]
  const { busy, error, submit } = useSubmit(async () => {
    const [method, path] = team ? ['PATCH', `/rest/teams/${team._id}`] : ['POST', '/rest/teams']
    await call(method as string, path as string, { body: { name, members } })
    notify(t('Saved.'))
    onDone()
    onClose()
  })
  return (
    <Dialog title={team ? t('Change {name}', { name: team.name }) : t('New team')} onClose={onClose}>
      <form onSubmit={submit}>
        <TextField label={t('Name')} value={name} onChange={setName} required />
        <fieldset class="field choices">
          <legend>{t('Members')}</legend>
          {choices.map(({ _id, name: called }) => (
            <label key={_id}>
              <input
                type="checkbox"
                checked={members.includes(_id)}
                onChange={({ currentTarget }) =>
                  setMembers(currentTarget.checked ? [...members, _id] : members.filter((one) => one !== _id))
                }
              />
              {called}
            </label>
          ))}
        </fieldset>
        <FormEnd action={t('Save')} busy={busy} error={error} />
      </form>
    </Dialog>
  )
}
