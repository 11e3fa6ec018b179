import type { Language } from '@parley/shared/languages'

const TEXTS: Record<Language, { subject: string; before: string; after: string }> = {
  en: {
    subject: 'A new password for Parley',
    before:
      'Somebody has asked for a new password for your account. This address lets you set it, once, within 30 minutes:',
    after: 'If it was not you, there is nothing to do: your password stays as it is.',
  },
  'pt-BR': {
    subject: 'Uma nova senha para o Parley',
    before:
      'Alguém pediu uma nova senha para a sua conta. Este endereço permite defini-la, uma única vez, em até 30 minutos:',
    after: 'Se não foi você, não precisa fazer nada: a sua senha continua a mesma.',
  },
  es: {
    subject: 'Una nueva contraseña para Parley',
    before:
      'Alguien ha pedido una nueva contraseña para tu cuenta. Esta dirección permite definirla, una sola vez, en los próximos 30 minutos:',
    after: 'Si no has sido tú, no tienes que hacer nada: tu contraseña sigue siendo la misma.',
  },
}

/** The mail with a link. It has nothing in it that anybody else chose, a name least of all. */
export function linkMail(language: Language, url: string): { subject: string; text: string } {
  const { subject, before, after } = TEXTS[language]
  return { subject, text: `${before}\n\n${url}\n\n${after}\n` }
}
