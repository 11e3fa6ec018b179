import { useEffect, useState } from 'preact/hooks'
import { call } from '../api.ts'
import { notify } from '../components/actions.tsx'
import { Failure, Loading, PageHead } from '../components/basics.tsx'
import { byPath } from '../components/screens.tsx'
import { pageOfConnection } from '../connecting.ts'
import { t } from '../language.ts'
import { InputError } from '../problems.ts'
import { hrefOf, navigate, type PageProps } from '../router.ts'

/** Where the browser comes back to from an authorization server: the action is connected, or why it is not. */
export const ConnectedPage = byPath('/connected', { '': Connected })

function Connected({ query }: PageProps) {
  const [error, setError] = useState<Error>()
  const [page] = useState(() => pageOfConnection((query.get('state') ?? '').split('.')[0] ?? ''))
  useEffect(() => {
    end(query, page).catch(setError)
  }, [])
  if (error === undefined) return <Loading />
  return (
    <>
      <PageHead title={t('Not connected')} />
      <Failure error={error} />
      <p>
        <a href={hrefOf(page)}>{t('Back to where it was begun')}</a>
      </p>
    </>
  )
}

async function end(query: URLSearchParams, page: string): Promise<void> {
  const [state, code, iss] = ['state', 'code', 'iss'].map((name) => query.get(name) ?? undefined)
  if (state === undefined || !/^\d{1,16}\./.test(state))
    throw new InputError(t('This address has no consent in it.'), [])
  if (code === undefined)
    throw new InputError(
      t('Nobody gave consent: {reason}.', { reason: query.get('error') ?? t('there is no code') }),
      [],
    )
  const [id] = state.split('.')
  await call('POST', `/rest/actions/${id}/connected`, { body: { state, code, iss } })
  notify(t('Connected.'))
  navigate(page, { replace: true })
}
