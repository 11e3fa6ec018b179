import { RULES } from '@parley/dispatcher/deliver/decide'

const MARK = '<!-- rules: npm run docs -->'
const END = '<!-- end of the rules -->'

const TITLES: Record<keyof typeof RULES, string> = {
  any: 'Any message',
  response: 'A message that carries its answer, or gets one by a handler',
  turns: 'A message that an agent works in turns',
}

/** The page with the rules of what a message does next between their marks. */
export function withRules(page: string): string {
  const [before = '', rest = ''] = page.split(MARK, 2)
  const [, after = ''] = rest.split(END, 2)
  const tables = Object.entries(RULES).map(([name, rules]) =>
    [
      `| ${TITLES[name as keyof typeof RULES]}: where … | it … next |`,
      '| --- | --- |',
      ...rules.map(({ when, next }) => `| ${when} | ${next} |`),
    ].join('\n'),
  )
  return `${before}${MARK}\n\n${tables.join('\n\n')}\n\n${END}${after}`
}
