/** The value of one of a template's variables: a text, or a person's attribute with what stands in for it. */
type CampaignVariable = { text: string } | { attribute: string; fallback?: string | undefined }

/** By position or by name, as the template has them. */
export type CampaignVariables = readonly CampaignVariable[] | Readonly<Record<string, CampaignVariable>>

/** The fields of a person that variables are filled from. */
export interface PersonFields {
  name?: string | undefined
  language?: string | undefined
  attributes?: Readonly<Record<string, unknown>> | undefined
}

/** The texts for one person, or the attributes that are missing and have no fallback. */
type FilledVariables =
  | { kind: 'filled'; variables: string[] | Record<string, string> }
  | { kind: 'missing'; attributes: string[] }

const OWN_FIELDS = ['name', 'language'] as const

/** Fills the variables for a person. An attribute that is empty counts as missing: providers refuse empty texts. */
export function fillVariables(variables: CampaignVariables, person: PersonFields): FilledVariables {
  const missing: string[] = []
  const fill = (variable: CampaignVariable): string => {
    if ('text' in variable) return variable.text
    const text = attributeText(person, variable.attribute) ?? variable.fallback
    if (text === undefined) missing.push(variable.attribute)
    return text ?? ''
  }
  const filled = isList(variables)
    ? variables.map(fill)
    : Object.fromEntries(Object.entries(variables).map(([name, one]) => [name, fill(one)]))
  return missing.length > 0
    ? { kind: 'missing', attributes: [...new Set(missing)] }
    : { kind: 'filled', variables: filled }
}

/** The attributes that variables are filled from, and those of them without a fallback. */
export function attributesIn(variables: CampaignVariables): { all: string[]; required: string[] } {
  const own = (isList(variables) ? variables : Object.values(variables)).flatMap((one) =>
    'attribute' in one ? [one] : [],
  )
  const names = (list: typeof own) => [...new Set(list.map(({ attribute }) => attribute))]
  return { all: names(own), required: names(own.filter(({ fallback }) => fallback === undefined)) }
}

const isList = (variables: CampaignVariables): variables is readonly CampaignVariable[] =>
  Array.isArray(variables)

/** A text of one line: providers refuse line breaks, tabs and runs of spaces in what fills a variable. */
function attributeText(person: PersonFields, attribute: string): string | undefined {
  const isOwn = OWN_FIELDS.some((field) => field === attribute)
  const value = isOwn ? person[attribute as (typeof OWN_FIELDS)[number]] : ownValue(person, attribute)
  if (value === undefined || value === null) return undefined
  const text = value instanceof Date ? value.toISOString().slice(0, 10) : String(value)
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line === '' ? undefined : line
}

function ownValue({ attributes = {} }: PersonFields, name: string): unknown {
  return Object.hasOwn(attributes, name) ? attributes[name] : undefined
}
