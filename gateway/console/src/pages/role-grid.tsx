import { RULED_RESOURCES } from '@parley/shared/configuration-resources'
import { parsePart } from '@parley/shared/permission/entry'
import { ScrollRegion } from '../components/scroll-region.tsx'
import { t } from '../language.ts'
import type { Right, RoleRights } from '../role-rights.ts'
import { resourceInWords } from '../words.ts'

/** The expressions that are offered for which documents are meant; any other can be typed. */
const OFFERED = ["{{doc.channel}} == 'support-line'", '{{doc.owner}} == {{account._id}}']
const OFFERED_LIST = 'role-documents'

/** The rights of a role to read and write each resource, and the documents that they apply to. */
export function RoleGrid({ role, onChange }: { role: RoleRights; onChange(role: RoleRights): void }) {
  const change = (name: string, part: Partial<Right>) => {
    const before = role.rights[name] ?? { read: false, write: false, which: '' }
    onChange({ ...role, rights: { ...role.rights, [name]: { ...before, ...part } } })
  }
  return (
    <ScrollRegion label={t('Rights by resource')}>
      <datalist id={OFFERED_LIST}>
        {OFFERED.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      <table>
        <thead>
          <tr>
            <th scope="col">{t('Resource')}</th>
            <th scope="col">{t('May read')}</th>
            <th scope="col">{t('May write')}</th>
            <th scope="col">{t('Which ones')}</th>
          </tr>
        </thead>
        <tbody>
          {RULED_RESOURCES.map((name) => {
            const { read, write, which } = role.rights[name] ?? { read: false, write: false, which: '' }
            const wrong = problemOf(which)
            const resource = resourceInWords(name)
            return (
              <tr key={name}>
                <th scope="row">
                  {resource} <code class="quiet">{name}</code>
                </th>
                <td>
                  <input
                    type="checkbox"
                    aria-label={t('Read {name}', { name: resource })}
                    checked={read}
                    onChange={(event) => change(name, { read: event.currentTarget.checked })}
                  />
                </td>
                <td>
                  <input
                    type="checkbox"
                    aria-label={t('Write {name}', { name: resource })}
                    checked={write}
                    onChange={(event) => change(name, { write: event.currentTarget.checked })}
                  />
                </td>
                <td>
                  <input
                    type="text"
                    class="code"
                    aria-label={t('Which {name}', { name: resource })}
                    aria-invalid={wrong === undefined ? undefined : 'true'}
                    placeholder={t('all')}
                    list={OFFERED_LIST}
                    disabled={!read && !write}
                    value={which}
                    onInput={(event) => change(name, { which: event.currentTarget.value })}
                  />
                  {wrong && <p class="field-error">{wrong}</p>}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </ScrollRegion>
  )
}

/** Returns the problem of an expression; undefined where there is none. */
function problemOf(which: string): string | undefined {
  if (which.trim() === '') return undefined
  if (/^(?:true|false)$/.test(which.trim())) return t('All or none is what the boxes say: leave this empty.')
  const parsed = parsePart(which)
  if (!('error' in parsed)) return undefined
  const { column, message } = parsed.error
  return t('Column {column}: {message}', { column, message })
}
