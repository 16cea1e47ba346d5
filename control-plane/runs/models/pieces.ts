// Collects a reply in pieces, in the order in which they began. In the next round the provider receives them again,
// with the marks that it set. Without the marks, some providers reject a thought (its signature is missing) or a call
// (its item id is missing), and other providers repeat their thinking.
import type { LanguageModelV3StreamPart, SharedV3ProviderMetadata } from '@ai-sdk/provider';
import type { ReplyPiece } from '../model.ts';

interface Pieces {
  /** Adds a part of the stream. Returns how many pieces began with it. */
  add(part: LanguageModelV3StreamPart): number;
  /** Returns the pieces, or an empty object when the text and the calls contain the whole reply. */
  kept(): { readonly pieces?: readonly ReplyPiece[] };
}

interface MarkedPart {
  readonly id: string;
  readonly providerMetadata?: SharedV3ProviderMetadata;
}

interface Piece {
  readonly kind: ReplyPiece['kind'];
  text: string;
  length: number;
  mark: SharedV3ProviderMetadata | undefined;
}

export function createPieces(): Pieces {
  const all: Piece[] = [];
  /** The pieces that may still grow, keyed by the kind and id of their part. */
  const open = new Map<string, Piece>();

  const push = (kind: Piece['kind'], mark: SharedV3ProviderMetadata | undefined): Piece => {
    const piece: Piece = { kind, text: '', length: 0, mark };
    all.push(piece);
    return piece;
  };
  const at = (kind: 'thought' | 'text', { id, providerMetadata }: MarkedPart): Piece => {
    const key = `${kind} ${id}`;
    const piece = open.get(key) ?? push(kind, undefined);
    open.set(key, piece);
    // The last mark replaces the earlier ones.
    piece.mark = providerMetadata ?? piece.mark;
    return piece;
  };

  return {
    add: (part) => {
      const before = all.length;
      switch (part.type) {
        case 'reasoning-start':
          at('thought', part);
          break;
        case 'reasoning-end':
          at('thought', part);
          open.delete(`thought ${part.id}`);
          break;
        case 'reasoning-delta':
          at('thought', part).text += part.delta;
          break;
        case 'text-start':
          at('text', part);
          break;
        case 'text-end':
          at('text', part);
          open.delete(`text ${part.id}`);
          break;
        case 'text-delta':
          at('text', part).length += part.delta.length;
          break;
        case 'tool-call':
          if (part.providerExecuted !== true) push('call', part.providerMetadata);
          break;
        default:
          break;
      }
      return all.length - before;
    },
    kept: () => {
      const pieces = all.map(pieceFrom);
      return pieces.some((piece) => piece.kind === 'thought' || piece.mark !== undefined) ? { pieces } : {};
    },
  };
}

function pieceFrom({ kind, text, length, mark }: Piece): ReplyPiece {
  const marked = mark === undefined ? {} : { mark };
  switch (kind) {
    case 'thought':
      return { kind, text, ...marked };
    case 'text':
      return { kind, length, ...marked };
    case 'call':
      return { kind, ...marked };
  }
}
