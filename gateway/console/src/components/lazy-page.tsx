import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { t } from '../language.ts'
import { Button } from './actions.tsx'
import { Empty, Loading } from './basics.tsx'

/** A page, or a part of one, whose script is loaded when it is first shown. */
export function lazyPage<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined
  return function LazyPage(props: P) {
    const [Shown, setShown] = useState<ComponentType<P> | undefined>(() => loaded)
    const [isMissing, setMissing] = useState(false)
    useEffect(() => {
      if (loaded !== undefined) return
      const show = (found: ComponentType<P>) => {
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
