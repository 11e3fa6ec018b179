import { readFileSync } from 'node:fs'
import { parse } from '@swc/core'
import type { Node } from './modules.ts'

/** The texts of a file for people: those that go through the catalogue, and those that do not. */
interface Texts {
  messages: string[]
  outside: string[]
}

/** The functions that look a text up. */
const LOOKUPS = new Set(['t', 'rich', 'say'])
/** Attributes and properties whose texts somebody reads. */
const READ =
  /^(label|title|note|placeholder|aria-label|alt|term|action|dismiss|what|name|one|many|create|none|inLast|nothing)$/
/** Attributes and properties whose texts are for programs. */
const CODE =
  /^(class|type|role|href|key|id|for|kind|tone|icon|autocomplete|rel|target|scope|as|viewBox|d|path|method|resource|schema|value|font|stroke|color|style|event|headers|reads|marketing|at|of|start|from|source|hook|callback|link)$/
/** Calls whose arguments are for programs. */
const CALLS =
  /^(call|callTagged|callForBlob|callWithFile|useLoad|useList|listAll|querySelector|querySelectorAll|matchMedia|getPropertyValue|closest|split|join|includes|startsWith|endsWith|replace|replaceAll|get|has|set|setQuery|hrefOf|navigate|leaveTo|useDraft|useStore|createStore|addEventListener|removeEventListener|Error|TypeError|Set|Map|RegExp|may|mayAll|oneAtATime|indexOf|schemaNamed|choicesOf|readDocument|replaceDocument|patchDocument|deleteDocument|download|request|BroadcastChannel|DateTimeFormat|NumberFormat|DisplayNames|ListFormat|RelativeTimeFormat|useState|createElement|append|delete|setItem|getItem|removeItem|mark|getAttribute|json|postMessage|getElementById|text)$/
/** Names, examples and units, which are the same in every language. */
const EXCEPTED =
  /^(Parley|Anthropic|Google|API|JSON|URL|OAuth|curl|Edge|Edg|Opera|OPR|Firefox|Chrome|Safari|Android|iPhone|iPad|Windows|Mac OS|Linux|Enter|Esc|Escape|ArrowDown|ArrowUp|Arrow|Tab|Backspace|ms|h|min|s|KiB|MiB|BRL|America\/Sao_Paulo|j k|\/|x|g|,)$/

/** Reads the texts of a file. `tables`: those are texts, too, that its constants of type `Record<string, string>` have. */
export async function textsOf(file: string, { tables = false } = {}): Promise<Texts> {
  const tree = await parse(readFileSync(file, 'utf8'), {
    ...{ syntax: 'typescript', target: 'es2024', tsx: file.endsWith('x') },
  })
  const texts: Texts = { messages: [], outside: [] }
  walk(tree, { texts, file, isRead: false, isCode: false, tables })
  return texts
}

interface Place {
  texts: Texts
  file: string
  /** True if the text here is shown to somebody. */
  isRead: boolean
  /** True if the text here is for programs. */
  isCode: boolean
  tables: boolean
}

function walk(value: unknown, place: Place): void {
  if (Array.isArray(value)) {
    for (const one of value) walk(one, place)
    return
  }
  if (typeof value !== 'object' || value === null) return
  const node = value as Node
  const { type } = node
  if (typeof type !== 'string') {
    for (const one of Object.values(node)) walk(one, place)
    return
  }
  if (/^(ImportDeclaration|ExportAllDeclaration|Ts(?!As|ConstAssertion|Satisfies|NonNull)\w*)$/.test(type))
    return
  const handle = HANDLERS[type]
  if (handle !== undefined) {
    handle(node, place)
    return
  }
  for (const [key, child] of Object.entries(node)) if (key !== 'typeAnnotation') walk(child, place)
}

const textIn = (node: unknown): string | undefined => {
  const { type, value, quasis } = (node ?? {}) as Node
  if (type === 'StringLiteral') return String(value)
  const [only, ...others] = (quasis as Node[] | undefined) ?? []
  return type === 'TemplateLiteral' && only !== undefined && others.length === 0
    ? String(only.cooked)
    : undefined
}

const nameIn = (node: unknown): string => {
  const { type, value, property, name, expression } = (node ?? {}) as Node
  if (type === 'MemberExpression') return nameIn(property)
  if (type === 'OptionalChainingExpression') return nameIn((node as Node).base)
  if (type === 'JSXNamespacedName') return `${nameIn((node as Node).namespace)}:${nameIn(name)}`
  return typeof value === 'string' ? value : expression === undefined ? '' : nameIn(expression)
}

/** True if a text reads like words: several, or one that begins a sentence. */
const isWords = (text: string): boolean =>
  /^[A-Z][a-z’]+[.…:!?]?$/.test(text) || /[a-z’]{2,}[.,:;]? +[A-Za-z’]|[A-Za-z’] +[a-z’]{2,}/.test(text)

function check(text: string, { texts, file, isRead, isCode }: Place): void {
  const plain = text.replaceAll(/\s+/g, ' ').trim()
  if (!/[A-Za-z]{2,}/.test(plain) || EXCEPTED.test(plain) || isCode) return
  if (isRead ? !/^[A-Z_]+$|^[a-z]+:|^\+?[\d:]|^pt, or/.test(plain) : isWords(plain))
    texts.outside.push(`${file}: ${plain}`)
}

const HANDLERS: Record<string, (node: Node, place: Place) => void> = {
  JSXText: ({ value }, place) => check(String(value), { ...place, isRead: true, isCode: false }),
  StringLiteral: ({ value }, place) => check(String(value), place),
  TemplateLiteral({ quasis, expressions }, place) {
    for (const { cooked } of quasis as Node[])
      check(String(cooked), {
        ...place,
        isRead: place.isRead && /[A-Za-z]{2,} |\b[A-Z][a-z]/.test(String(cooked)),
      })
    walk(expressions, { ...place, isRead: false })
  },
  JSXAttribute({ name, value }, place) {
    const named = nameIn(name)
    const isCode = CODE.test(named) || /^data-|^aria-(?!label)/.test(named)
    walk(value, { ...place, isCode, isRead: READ.test(named) && !isCode })
  },
  JSXElement({ opening, children }, place) {
    const { name, attributes } = opening as Node
    // An element's own name is a form's, an icon's is a drawing's.
    const isDrawing = /^[a-z]|^Icon$/.test(nameIn(name))
    for (const attribute of attributes as Node[])
      if (!(isDrawing && nameIn(attribute.name) === 'name'))
        walk(attribute, { ...place, isCode: false, isRead: false })
    walk(children, { ...place, isCode: false, isRead: true })
  },
  JSXFragment: ({ children }, place) => walk(children, { ...place, isCode: false, isRead: true }),
  JSXExpressionContainer: ({ expression }, place) => walk(expression, place),
  ConditionalExpression({ test, consequent, alternate }, place) {
    walk(test, { ...place, isRead: false })
    walk([consequent, alternate], place)
  },
  BinaryExpression({ operator, left, right }, place) {
    if (!/^(\?\?|\|\||&&|\+)$/.test(String(operator))) return walk([left, right], { ...place, isCode: true })
    walk(left, { ...place, isRead: place.isRead && operator !== '&&' })
    walk(right, place)
  },
  CallExpression: callOf,
  NewExpression: callOf,
  KeyValueProperty({ key, value }, place) {
    const named = nameIn(key)
    const isCode = place.isCode || CODE.test(named)
    walk(value, {
      ...place,
      isCode,
      isRead: !isCode && READ.test(named) && (value as Node).type !== 'ObjectExpression',
    })
  },
  ArrowFunctionExpression: ({ body, params }, place) =>
    walk([params, body], { ...place, isCode: false, isRead: false }),
  SwitchCase: ({ consequent }, place) => walk(consequent, place),
  VariableDeclarator({ id, init }, place) {
    const { typeAnnotation } = ((id as Node).typeAnnotation ?? {}) as Node
    if (place.tables && typeAnnotation !== undefined && init) return table(init as Node, place)
    walk(init, place)
  },
  MemberExpression({ object, property }, place) {
    walk(object, {
      ...place,
      isCode:
        place.isCode ||
        (/^(includes|some|find|map)$/.test(nameIn(property)) && (object as Node).type === 'ArrayExpression'),
    })
    if ((property as Node).type === 'Computed')
      walk((property as Node).expression, { ...place, isCode: true })
  },
}

function callOf(node: Node, place: Place): void {
  const { callee, arguments: given } = node
  const name = nameIn(callee)
  const [first, ...others] = ((given as Node[] | null) ?? []).map(({ expression }) => expression)
  if (LOOKUPS.has(name) && (callee as Node).type === 'Identifier') {
    const text = textIn(first)
    if (text !== undefined) place.texts.messages.push(text)
    else if ((first as Node).type === 'ConditionalExpression') walkMessages(first, place)
    walk(others, { ...place, isRead: false })
    return
  }
  walk(callee, { ...place, isRead: false })
  const isCode = CALLS.test(name)
  for (const one of [first, ...others]) {
    const isFunction = /Function|Arrow/.test(String((one as Node | undefined)?.type))
    walk(one, { ...place, isRead: false, isCode: isCode && !isFunction })
  }
}

function walkMessages(node: unknown, place: Place): void {
  const { consequent, alternate } = node as Node
  for (const one of [consequent, alternate]) {
    const text = textIn(one)
    if (text !== undefined) place.texts.messages.push(text)
  }
}

function table(init: Node, place: Place): void {
  for (const { value } of (init.properties as Node[] | undefined) ?? []) {
    const text = textIn(value)
    if (text !== undefined) place.texts.messages.push(text)
  }
  if (init.type !== 'ObjectExpression') walk(init, place)
}

/** The properties, and the calls, whose texts problems have. */
const OF_PROBLEMS = {
  keys: /^(detail|message|error)$/,
  calls: /^(parameterError|refuse|refine|regex|fieldError)$/,
}
/** Texts that are nobody's to read, or an example's. */
const ASIDE = /^(description|summary|example|examples)$/

/** The texts of problems that a file has, with numbers in braces for what is composed. */
export const problemTextsOf = (file: string): Promise<string[]> => textsIn(file, { isAll: false })

/** The same of every text of several words in a file that has no others. */
export const allTextsOf = (file: string): Promise<string[]> => textsIn(file, { isAll: true })

async function textsIn(file: string, { isAll }: { isAll: boolean }): Promise<string[]> {
  const tree = await parse(readFileSync(file, 'utf8'), { syntax: 'typescript', target: 'es2024' })
  const found: string[] = []
  const read = (value: unknown, isTaken: boolean): void => {
    if (typeof value !== 'object' || value === null) return
    const node = value as Node
    if (/^(ImportDeclaration|ExportAllDeclaration|TsLiteralType)$/.test(String(node.type))) return
    if (node.type === 'CallExpression') {
      const called = nameIn(node.callee)
      if (called === 'describe') return
      read(node.callee, isAll)
      read(node.arguments, isTaken || OF_PROBLEMS.calls.test(called))
      return
    }
    if (node.type === 'KeyValueProperty') {
      const named = nameIn(node.key)
      read(node.value, !ASIDE.test(named) && (isTaken || OF_PROBLEMS.keys.test(named)))
      return
    }
    const text = isTaken ? (textIn(node) ?? composedIn(node)) : undefined
    if (text !== undefined && isSentence(text)) found.push(text)
    for (const one of Object.values(node)) read(one, isTaken)
  }
  read(tree.body, isAll)
  return found
}

function composedIn({ type, quasis }: Node): string | undefined {
  if (type !== 'TemplateLiteral') return undefined
  return (quasis as Node[]).map(({ cooked }, at) => (at === 0 ? cooked : `{${at - 1}}${cooked}`)).join('')
}

/** Words around a space, whatever they are composed of; one word after something composed could be anybody's text. */
function isSentence(text: string): boolean {
  const words = text.replaceAll(/\{\d\}/g, ' ').match(/[A-Za-z]{2,}/g) ?? []
  return words.length > (/^\{\d\}/.test(text) ? 1 : 0) && /[a-z\d}’”;,.] [a-z\d{“A-Z]|[a-z]: \{/.test(text)
}
