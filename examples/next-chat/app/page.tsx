export const dynamic = 'force-dynamic'

/** The address of a chat is all that a page needs to show it again. */
export default function Page() {
  return <a href={`/${crypto.randomUUID()}`}>New chat</a>
}
