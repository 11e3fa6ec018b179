import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { DESK, PHONE } from './console-system.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** Each size in both themes. */
const LOOKS = [PHONE, DESK].flatMap((viewport) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ viewport, colorScheme })),
)

/** Each size and each theme once: where texts are longer, colors are the same. */
export const SIZES: typeof LOOKS = [
  { viewport: PHONE, colorScheme: 'light' },
  { viewport: DESK, colorScheme: 'dark' },
]

/** Returns axe's findings on a page against WCAG 2.2 AA, and its excess over the screen's width, in each look. */
export async function violations(page: Page, path: string, looks = LOOKS): Promise<string[]> {
  await page.evaluate(AXE)
  const found: string[] = []
  for (const { viewport, colorScheme } of looks) {
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme })
    const name = `${path || '/'} ${viewport.width} px ${colorScheme}`
    const overflow = await overflowOf(page)
    if (overflow > 0) found.push(`${name}: ${overflow} px wider than the screen`)
    found.push(...(await runAxe(page)).map((violation) => `${name}: ${violation}`))
  }
  return found
}

/** By how many px the page is wider than the screen. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
}

/** Runs axe. A target that is half scrolled out counts as too small: it is checked again once it is in view. */
function runAxe(page: Page): Promise<string[]> {
  return page.evaluate(
    async (options) => {
      type Found = { violations: { id: string; nodes: { html: string; target: string[] }[] }[] }
      type Axe = { run(context: object, options: object): Promise<Found> }
      const { axe } = globalThis as unknown as { axe: Axe }
      const isSo = async (selector = ''): Promise<boolean> => {
        document.querySelector(selector)?.scrollIntoView({ block: 'center' })
        const again = await axe.run({ include: [selector] }, options)
        return again.violations.some(({ id }) => id === 'target-size')
      }
      const wrong: string[] = []
      const { violations } = await axe.run(document, options)
      for (const { id, nodes } of violations)
        for (const { html, target } of nodes)
          if (id !== 'target-size' || (await isSo(target[0]))) wrong.push(`${id}: ${html}`)
      return wrong
    },
    { runOnly: { type: 'tag', values: WCAG } },
  )
}
