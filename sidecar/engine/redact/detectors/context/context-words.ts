// Lists the words that say what a number next to them is. A `*` at the end means any inflection. In alphabets with
// blanks between words, a word counts only if it stands alone, or if it is a part of a name such as `homePhone` or
// `X-Tax-Id`. Words of other scripts match anywhere, because these scripts have no blanks. `*SY*` is how X12 says that
// a social security number follows. `S21.G00.30.001` is how the French DSN says it.

const words = (text: string): readonly string[] =>
  text
    .trim()
    .split(/\s*[,\n]\s*/)
    .filter((word) => word !== '');

/**
 * The words, by the kind of number that they announce. The nearest word before a number decides. Of two words that end
 * at the same position, the longer one decides.
 */
export const contextWords = {
  phone: words(`
    phone, phones, phoneno, phonenumber, phone_number, telephone, tel, telno, telnr, telephon*, telefon*, tlf, tfno, teléfono*, téléphone, tél, mobile, mobiles, mobileno,
    mobilenumber, mobil, mobiltelefon*, mobilnummer*, móvil, movil, cell, cellphone, celular*, cellulare, cel, handy, handynummer, gsm, fax, faxno, faxnumber, telefax,
    landline, hotline, helpline, whatsapp, wa.me/, phone=, sms, msisdn, caller, callerid, callee, callback, call me, call us, call her, call him, ring me, ring us, text me,
    reached at, reach me, reachable, ph, phn, phone no, contact, contactno, contact_no, contact no, contactnumber, contact number, my number, new number, her number, his number, zap, bel,
    拨打, 撥打, 来电, 來電, 打给, 連絡, 電話番号, festnetz, rufnummer, durchwahl, anrufen, appeler, appelez, appelle, llamar, llámame, llama al, ligar, liga no, ligue, chiamare,
    chiamami, bel me, bel mij, bellen, mobiel, dzwoń, zadzwoń, komórk*, puhelin*, puh, ring mig, sími, telefón*, telefonszám*, mobilní, gsm no,
    tel:, sip:, sips:, sms:, callto:, whatsapp:, điện thoại, số điện thoại, sđt, telepon, nomor hp, no hp, número de contacto,
    submit_sm, deliver_sm, data_sm, destination_addr, source_addr, destination_number, source_number, dialed, dialled, ani, dnis, a_number, b_number, calling_number, called_number,
    homephone, workphone, mobilephone, officephone, contactphone, userphone, phonehome, phonework, caller id, caller-id, caller_id, caller-id-num, caller_id_num, calleridnum, caller id number,
    anruf*, rückruf*, handynr, mobilnr, callingpartynumber, calledpartynumber, callingnumber, callednumber, перезвони*, набери*, набрать,
    телефон*, тел, моб, мобильн*, звони*, позвони*, факс, телефонуй*, дзвон*, τηλ, τηλέφωνο, κινητό, طلفون, تلفون, هاتف, الهاتف, جوال, الجوال, موبايل, اتصل, تلفن, موبایل, شماره,
    טלפון, נייד, फ़ोन, फोन, मोबाइल, दूरभाष, ফোন, মোবাইল, โทร, โทรศัพท์, มือถือ, 电话, 電話, 手机, 手機, 联系方式, 聯絡, 致电, 携帯, 連絡先, ファックス, 传真, 傳真,
    전화, 연락처, 휴대폰, 휴대전화, 핸드폰, 팩스`),
  card: words(`
    card, cards, cardno, cardnumber, card_number, creditcard, debitcard, ccnum, ccnumber, cc, pan, visa, mastercard, amex, american express, maestro, diners, unionpay, jcb,
    discover, rupay, hipercard, verve, troy, iso8583, kreditkarte*, karte, kartennummer, kartu, kaart, kort, kortnummer, carte, carte bancaire, numéro de carte, cb, tarjeta*,
    cartão, cartao, carta, carta di credito, karta, karty, kartę, kartou, luottokortti, kredi kartı, kartı, kart, thẻ, карт*, картк*, κάρτα, بطاقة, البطاقة, کارت, כרטיס, कार्ड,
    บัตร, カード, 信用卡, 银行卡, 卡号, 卡號, 刷卡, 카드`),
  account: words(`
    iban, ibans, bic, konto, kontonummer, rib, bankverbindung, compte, conto, cuenta, conta, rekening, rekeningnummer, rachunek, účet, számla, hesap, счёт iban, حساب, 口座, 账户, 계좌`),
  person: words(`
    ssn, ssns, social, social security, social security number, social_security, itin, ein, tin:, tin no, tin number, tax id, tax_id, taxid, tax number, tax_number, taxnumber, taxpayer, tax no, tfn, sin,
    social insurance, nino, national insurance, ni number, nhs, nhs number, nhs_number, utr, national id, national_id, nationalid, nationalidnumber, national identity,
    identity card, identity number, identity no, id card, id_card, idcard, id number, id_number, idnumber, id no, id-nummer, id-nr, personal id, personal_id, personal code, personal number,
    personal_number, citizen id, citizen_id, citizenid, citizen number, civil id, resident id, residence permit, passport, passports, passport_no, passport number, passportnumber, reisepass,
    passnummer, paspoort, passeport, pasaporte, passaporte, passaporto, paszport*, pasaport, паспорт*, passnr, personalausweis*, ausweis, ausweisnummer, id document, driver license,
    driving licence, driving license, drivers license, driver's license, driver_license, drivers_license, driverlicense, licence no, führerschein*, permis de conduire,
    idnr, steuer-id*, steuerid, steuer-idnr, steueridentifikationsnummer, steuernummer, steuernr, identifikationsnummer, sozialversicherungsnummer, svnr, sv-nr, sv-nummer, rvnr, ahv, ahv-nr, ahvn, avs,
    avs-nr, bsn, burgerservicenummer, sofinummer, rijksregister*, rijksregisternummer, numéro national, numero national, niss, insz, inss, nir, n° ss, nss, sécurité sociale, securite sociale,
    numéro de sécurité sociale, carte vitale, spi, numéro fiscal, numero fiscal, codice fiscale, codicefiscale, codice_fiscale, cod. fiscale, c.f., contribuente, dni, nie, nif, cif, cpf, cnpj, rg,
    contribuinte, cédula, cedula, curp, rfc, rut, ruc, cuit, cuil, nit, documento, identidad, identidade, identità, doc. identidad, dui, ine, clave única, pesel, nip, dowód*, dowodu, regon,
    rodné číslo, rodne cislo, rodné číslo*, rodného čísla, rč, rodne_cislo, personnummer, personnr, samordningsnummer, fødselsnummer, fodselsnummer, fnr, cpr, cpr-nr, cpr-nummer, hetu, henkilötunnus*,
    henkilötunnu*, kennitala, isikukood*, asmens kod*, personas kod*, oib, jmbg, emšo, emso, matični broj, cnp, cod numeric personal, egn, егн, tckn, tc kimlik, t.c., kimlik, tc no, vatandaşlık,
    taj, adóazonosító, személyi, αφμ, afm, αμκα, amka, ταυτότητα*, pps, ppsn, aadhaar, aadhar, pan card, pan no, pan number, pan, uidai, nric, fin no, mykad, mykad no, no. kp, kad pengenalan,
    ic no, hkid, cnic, nik, ktp, npwp, cccd, cmnd, căn cước, philsys, sss, umid, emirates id, eid, iqama, medicare, mbi, abn, ird, idno, id num, sa id, rsa id, bvn, nin, kra pin,
    st.-nr, st-nr, stnr, docnro, nro_doc, nrodoc, nro doc, num_doc, numdoc, no_kp, nokp, no kp, no_ic, ic_no, icno, жсн, *sy**, s21.g00.30.001,
    снилс, инн, іпн, рнокпп, иин, паспорт, الهوية, رقم الهوية, هوية, الرقم القومي, إقامة, جواز, کد ملی, کدملی, שמע, תעודת זהות, ת.ז, ת"ז, דרכון, आधार, पैन, ভোটার, เลขประจำตัวประชาชน, บัตรประชาชน, หนังสือเดินทาง,
    身份证, 身分證, 身份證, 居民身份, 护照, 護照, 统一编号, 統一編號, 证件号, 證件, マイナンバー, 個人番号, 旅券, パスポート, 運転免許, 免許証, 주민등록, 주민번호, 외국인등록, 여권, 운전면허, 驾照, 社保, 健保, 保険証`),
  order: words(`
    order, orders, orderno, orderid, order_id, ordernumber, invoice, invoices, invoiceno, inv, tracking, trackingno, trackingnumber, tracknum, shipment, shipments, parcel, awb, waybill, consignment,
    ticket, tickets, booking, bookings, reservation, voucher, coupon, quote, rma, claim, case, return, sku, ean, ean13, gtin, isbn, isbn13, issn, upc, barcode, serial, serialno, imei, iccid, batch,
    lot, receipt, article, artikel, artikelnummer, kundennummer, kundennr, customer no, customer_no, customerno, customer number, fedex, ups, dhl, usps, bestellung, bestellnummer, bestell-nr, auftrag*, rechnung*,
    sendung*, sendungsnummer, vorgang*, aktenzeichen, commande, facture, colis, suivi, dossier, pedido*, factura*, fatura*, encomenda, fattura, ordine, spedizione, bestelling, factuur, zamówieni*, faktur*,
    przesyłk*, objednávk*, beställning*, tilaus*, sipariş*, заказ*, накладн*, счёт, счет, замовленн*, طلب, فاتورة, شحنة, הזמנה, ऑर्डर, 注文, 伝票, 受付番号, お問い合わせ番号, 予約, 追跡, 订单, 訂單, 运单, 工单, 单号, 單號, 快递,
    发票, 發票, 条码, 주문, 운송장, 송장, 접수, 예약, 승인번호, 承認番号`),
  counter: words(`
    id, ids, uuid, guid, gid, uid, timestamp, timestamp_ms, ts, thread_ts, epoch, iat, exp, nbf, created, updated, modified, generated, generation, metageneration, version, release, build, revision, sequence,
    sequencenumber, sequence_number, seq, offset, count, total, sum, amount, size, bytes, length, tokens, seed, hash, checksum, sha, sha1, sha256, md5, commit, digest, fingerprint, thumbprint, etag, nonce,
    snowflake, trace, traceid, span, request, requestid, correlation, session, sessionid, transaction, txn, txid, trn, message, messageid, guild, tweet, status, statuses, posts, videos, latitude,
    longitude, lat, lon, lng, coordinates, random, mean, median, quota, limit, rows, ms, duration, elapsed, pid, port, line, page, gtid, lsn, versions, ver, semver, latest, installed, firmware, fw, sdk, os, browser, software, platform, 时间戳, タイムスタンプ`),
  ip: words(`
    ip, ips, ipaddr, ipaddress, ip_address, ipv4, ipv6, remote_addr, remoteaddr, x-forwarded-for, forwarded, client_ip, clientip, peer, host, gateway, ip-adresse, adresse ip, dirección ip, endereço ip,
    indirizzo ip, айпи, ip地址, ipアドレス`),
  mac: words(`
    mac, macs, macaddr, macaddress, mac_address, hwaddr, ether, lladdr, bssid, bluetooth, mac-adresse, adresse mac, mac地址, macアドレス`),
  wallet: words(`
    wallet, wallets, walletaddress, wallet_address, address, addresses, addr, recipient, deposit, payout, withdraw, withdrawal, btc, bitcoin, eth, ether, ethereum, ltc, litecoin, doge, dogecoin, xrp,
    ripple, trx, tron, usdt, usdc, sol, solana, phantom, xmr, monero, ada, cardano, dot, polkadot, atom, cosmos, xlm, stellar, send to, кошел*, адрес*, 钱包, 錢包, ウォレット, 지갑, محفظة`),
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Context = keyof typeof contextWords;
