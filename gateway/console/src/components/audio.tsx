import { useEffect, useState } from 'preact/hooks'
import { callForBlob } from '../api.ts'
import { Button } from './actions.tsx'

/** The audio of a message, loaded on demand. */
export function Audio({ id }: { id: string }) {
  const [url, setUrl] = useState<string>()
  useEffect(() => () => void (url && URL.revokeObjectURL(url)), [url])
  const load = async () => setUrl(URL.createObjectURL(await callForBlob(`/rest/messages/${id}/audio`)))
  if (url === undefined)
    return (
      <Button small onClick={load}>
        Load the audio
      </Button>
    )
  // biome-ignore lint/a11y/useMediaCaption: what a person recorded has no captions
  return <audio controls src={url} />
}
