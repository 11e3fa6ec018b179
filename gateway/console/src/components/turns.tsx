import { t } from '../language.ts'
import type { Turn } from '../messages.ts'
import { State } from './basics.tsx'
import { ScrollRegion } from './scroll-region.tsx'

type Call = Turn['calls'][number]

/** The turns of an assistant, one after another: its text, and the tools that it called with their results. */
export const Turns = ({ turns }: { turns: readonly Turn[] }) => (
  <>
    {turns.map((turn, at) => (
      <div key={`${turn.at} ${at}`} class="turn">
        {turn.text && <p class="bubble ours">{turn.text}</p>}
        {turn.calls.map((call) => (
          <ToolCall key={call.id} call={call} />
        ))}
      </div>
    ))}
  </>
)

/** One call of a tool, unfolded on demand. */
function ToolCall({ call: { tool, args, result } }: { call: Call }) {
  return (
    <details class="tool">
      <summary>
        <code>{tool}</code>
        {result ? (
          <State of={result.uncertain ? 'uncertain' : result.state} />
        ) : (
          <span class="quiet">{t('not called yet')}</span>
        )}
      </summary>
      <Part name={t('Arguments')} text={typeof args === 'string' ? args : JSON.stringify(args, null, 2)} />
      {result && (
        <Part
          name={
            result.status === undefined
              ? t('Result')
              : t('Result, status {status}', { status: result.status })
          }
          text={result.text}
        />
      )}
    </details>
  )
}

const Part = ({ name, text }: { name: string; text: string }) => (
  <>
    <p class="note">{name}</p>
    <ScrollRegion as="pre">{text}</ScrollRegion>
  </>
)
