import type { TemplatePreview } from '@parley/shared/providers/templates'
import { t } from '../language.ts'
import { wordOf } from '../words.ts'
import { Formatted, Linked } from './formatted.tsx'

type Part = Omit<TemplatePreview, 'cards' | 'footer'>

/** A template as its person sees it: what is above, the text, what is below, and the buttons. */
export const TemplateView = ({ preview: { footer, cards = [], ...part } }: { preview: TemplatePreview }) => (
  <div class="template-view">
    <PartView part={part} footer={footer} />
    {cards.map((card, at) => (
      <div key={at} class="template-card">
        <PartView part={card} footer={undefined} />
      </div>
    ))}
  </div>
)

function PartView({ part: { header, body, buttons }, footer }: { part: Part; footer: string | undefined }) {
  return (
    <>
      {header?.type === 'text' && header.text && <strong class="kind">{header.text}</strong>}
      {header !== undefined && header.type !== 'text' && (
        <span class="kind">
          [{wordOf(header.type)}]{header.text && ` ${header.text}`}
          {header.link && (
            <span class="link-text">
              <Linked text={header.link} />
            </span>
          )}
        </span>
      )}
      {body && <Formatted text={body} />}
      {footer && <p class="quiet">{footer}</p>}
      {buttons.length > 0 && (
        <ul class="template-buttons" aria-label={t('Buttons')}>
          {buttons.map(({ type, text, value }, at) => (
            <li key={at}>
              {text || wordOf(type)}
              {value && <span class="quiet"> {value}</span>}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
