import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { t } from '../language.ts'
import type { PageProps } from '../router.ts'
import { Button } from './actions.tsx'
import { Empty, Loading } from './basics.tsx'

type Page = ComponentType<PageProps>

/** A page whose script is loaded when somebody first goes there. */
export function lazyPage(load: () => Promise<Page>): Page {
  let loaded: Page | undefined
  return function LazyPage(props: PageProps) {
    const [Shown, setShown] = useState<Page | undefined>(() => loaded)
    const [isMissing, setMissing] = useState(false)
    useEffect(() => {
      if (loaded !== undefined) return
      const show = (found: Page) => {
        loaded = found
        setShown(() => loaded)
      }
      load().then(show, () => setMissing(true))
    }, [])
    if (Shown !== undefined) return <Shown {...props} />
    if (!isMissing) return <Loading />
    return (
      <Empty title={t('This page could not be loaded')}>
        <p>{t('The gateway can’t be reached, or it has a newer console.')}</p>
        <Button kind="primary" onClick={() => location.reload()}>
          {t('Load it again')}
        </Button>
      </Empty>
    )
  }
}
